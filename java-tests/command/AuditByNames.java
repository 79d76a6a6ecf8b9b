/*
 * Vouch profiles a program with two call paths, each through its own class. An audit of its JSON
 * profile and folded stacks must not refute more than the agent did. Then both files are forged:
 * one class gets another's name. With --exact, which says that these classes are the ones that ran,
 * the forged stacks are refuted, and no others. Without it they are only doubted. What names alone
 * cannot decide gives an error.
 *
 * @test
 * @summary Profiles and folded stacks, held to the bytecode by names and lines
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=300 AuditByNames
 */

import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import com.google.gson.Gson;
import com.google.gson.JsonObject;

import dev.vouch.test.Check;
import dev.vouch.test.FixedWork;
import dev.vouch.test.Run;
import dev.vouch.test.Tool;
import dev.vouch.test.Vm;

public class AuditByNames {
    private static final long MS = 1_000;
    private static final String ONE = "AuditByNames$Program$One.go";
    private static final String TWO = "AuditByNames$Program$Two.go";
    private static final String OFF = "AuditByNames$Program$Off.go";

    public static void main(String[] args) throws Exception {
        Run run = Vm.with("interval=1ms,out=profile.folded,recording=keep").flags("-Xmx256m").run(Program.class).ok();
        long one = through(run, ONE);
        // The rarer path has a third of the samples.
        double due = run.report().signalsIn(MS);
        Check.atLeast(due / 12, one, "samples of one way");
        Check.atLeast(due / 6, through(run, TWO), "samples of the other");
        long refuted = run.report().samples("refuted");
        truth(run.dir, "profile.json", "vouch", run.profile().samples().size(), refuted, due / 5);
        truth(run.dir, "profile.folded", "folded", -1, refuted, due / 5);
        lie(run.dir, one, refuted);
        mistakes(run.dir);
    }

    private static long through(Run run, String method) {
        return run.profile().samples().stream().filter(sample -> sample.has(method)).count();
    }

    /**
     * Names alone allow more than the agent's own proof does, so an audit may refute less, never
     * more.
     */
    private static void truth(Path dir, String file, String kind, long samples, long refuted, double least) throws Exception {
        JsonObject report = audited(dir, file);
        JsonObject fates = report.getAsJsonObject("kinds").getAsJsonObject(kind).getAsJsonObject("fates");
        if (samples >= 0) {
            Check.equal(samples, fates.get("signals").getAsLong(), "samples");
        }
        Check.atMost(refuted, fates.get("refuted").getAsLong(), "refuted by names: " + report.get("refutations"));
        JsonObject edges = report.getAsJsonObject("edges");
        Check.atLeast(0.9 * edges.get("checked").getAsLong(), edges.get("judged").getAsLong(), "edges that were judged");
        Check.atLeast(least, edges.get("checked").getAsLong(), "edges");
    }

    private static void lie(Path dir, long one, long refuted) throws Exception {
        rename(dir, "profile.json", "lie.json");
        JsonObject report = audited(dir, "lie.json");
        long now = report.getAsJsonObject("samples").get("refuted").getAsLong();
        Check.between(one, now, one + refuted, "samples that went that way");
        String explained = Tool.vouch(dir, "explain", "audit.json", "1").ok();
        Check.contains(explained, "in line", "which line");
        Check.contains(explained, OFF, "what the profile has");
        Check.contains(explained, "invokevirtual AuditByNames$Program$Way.go", "what the bytecode calls");
        rename(dir, "profile.folded", "lie.folded");
        report = audited(dir, "lie.folded");
        Check.atLeast(one, report.getAsJsonObject("samples").get("refuted").getAsLong(), "refuted by names alone");
        // Classes from --classes need not be the ones that ran, so they refute nothing.
        report = audited(dir, "lie.json", "--classes");
        Check.atMost(refuted, report.getAsJsonObject("samples").get("refuted").getAsLong(), "refuted by any class");
        long doubted = report.getAsJsonObject("edges").getAsJsonObject("unjudged").get("unconfirmed_version").getAsLong();
        Check.atLeast(1, doubted, "calls that bytecode speaks against");
        String compared = Tool.vouch(dir, "audit", "--compare", "profile.json", "lie.json", "lie.folded").ok();
        Check.contains(compared, "lie.folded", "side by side");
    }

    private static void mistakes(Path dir) throws Exception {
        Check.contains(Tool.vouch(dir, "audit", "profile.json", "--out", "a.html").refused(), "cannot be converted into a profile", "names, which have no times");
        Check.contains(Tool.vouch(dir, "audit", "profile.json", "profile.json").refused(), "audit it alone", "names, twice");
        Check.contains(Tool.vouch(dir, "audit", "profile.vouch").refused(), "is a recording by Vouch", "a recording of Vouch's");
    }

    private static void rename(Path dir, String from, String to) throws Exception {
        String text = new String(Files.readAllBytes(dir.resolve(from)), StandardCharsets.UTF_8);
        Check.contains(text, ONE, "the class's name");
        Files.write(dir.resolve(to), text.replace(ONE, OFF).getBytes(StandardCharsets.UTF_8));
    }

    private static JsonObject audited(Path dir, String file) throws Exception {
        return audited(dir, file, "--exact", "--classes");
    }

    private static JsonObject audited(Path dir, String file, String... how) throws Exception {
        List<String> words = new ArrayList<>(Arrays.asList("audit", file, "--jdk", System.getProperty("java.home"), "--report", "audit.json"));
        words.addAll(Arrays.asList(how));
        words.add(System.getProperty("test.class.path", ""));
        String said = Tool.vouch(dir, words.toArray(new String[0])).ok();
        System.out.println(said);
        Check.atMost(8, said.split("\n").length, "lines of the summary");
        return new Gson().fromJson(new String(Files.readAllBytes(dir.resolve("audit.json")), StandardCharsets.UTF_8), JsonObject.class);
    }

    public static class Program {
        abstract static class Way {
            abstract double go(double from);
        }

        static class Two extends Way {
            double go(double from) {
                return burn(from);
            }
        }

        // Both classes share a line, so that only the call into them can distinguish them.
        static class One extends Way { double go(double from) { return burn(from); } } static class Off { double go(double from) { return burn(from); } }

        static double burn(double from) {
            double sum = from;
            for (int i = 1; i < 20_000; i++) {
                sum += Math.sqrt(sum + i) / i;
            }
            return sum;
        }

        // Calls a method of an interface: such a call may also lead to a lambda.
        static long cpu() {
            return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
        }

        public static void main(String[] args) {
            // If half of a method's calls look impossible, the audit assumes that its code was
            // changed. So the forged path is the rarer one.
            Way[] ways = {new One(), new Two(), new Two()};
            double sum = 0;
            FixedWork fixedWork = new FixedWork(MS);
            for (int round = 0; fixedWork.isOn() && cpu() > 0; round++) {
                sum += ways[round % ways.length].go(round);
            }
            System.out.println(sum > 0 ? "done" : "");
        }
    }
}
