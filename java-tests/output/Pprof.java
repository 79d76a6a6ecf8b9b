/*
 * The sums of a run in .pb.gz, as `go tool pprof` reads them, are those of the folded stacks: for
 * each method alone and with all that it called, for each thread, and for allocated bytes. A team
 * with tools for pprof must get the same answer as one that reads Vouch's own files.
 *
 * @test
 * @summary go tool pprof reads the sums by method and thread of .folded and .json
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/othervm Pprof
 */

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import dev.vouch.test.Check;
import dev.vouch.test.MethodSums;
import dev.vouch.test.Recursion;
import dev.vouch.test.Run;
import dev.vouch.test.Skip;
import dev.vouch.test.Tool;
import dev.vouch.test.Vm;

public class Pprof {
    /** A sample of weight 1 in nanoseconds. */
    private static final long INTERVAL = 1_000_000;
    /** The files that may be Go's command, after the path. */
    private static final String[] GO = {"go", "/usr/local/go/bin/go", "/usr/lib/go/bin/go"};

    public static void main(String[] args) throws Exception {
        boolean allocates = Vm.major() >= 11;
        String events = allocates ? ",events=alloc" : "";
        Run run = Vm.with("out=profile.folded,out=profile.pb.gz,interval=1ms" + events).run(Program.class).ok();
        String go = go(run.dir);

        MethodSums.folded(run.dir.resolve("profile.folded"), INTERVAL).checkEqual(top(run.dir, go, "cpu", "ns"), ".pb.gz, cpu");
        Map<String, Long> threads = new HashMap<>();
        run.profile().tracks.forEach(track -> track.samples.forEach(sample -> threads.merge(track.name, sample.weight * INTERVAL, Long::sum)));
        Map<String, Long> labels = tags(run.dir, go, "thread");
        Check.equal(threads, labels, "nanoseconds by thread, .json and the label in .pb.gz");
        Check.atLeast(2, labels.keySet().stream().filter(name -> name.startsWith("worker-")).count(), "workers with samples");

        if (allocates) {
            String[] flame = {"flame", "profile.json", "--measure", "alloc", "--out", "alloc.folded"};
            Tool.vouch(run.dir, flame).ok();
            MethodSums.folded(run.dir.resolve("alloc.folded"), 1).checkEqual(top(run.dir, go, "alloc_space", "B"), ".pb.gz, alloc_space");
        }
    }

    /** How Go is called here. Without it the test is skipped. */
    private static String go(Path dir) throws InterruptedException {
        for (String go : GO) {
            try {
                pprof(dir, go, "-h");
                return go;
            } catch (IOException none) {
                System.out.println(none.getMessage());
            }
        }
        Skip.unless(false, "there is no Go, with its pprof: install it (https://go.dev/dl)");
        return null;
    }

    private static MethodSums top(Path dir, String go, String type, String unit) throws IOException, InterruptedException {
        MethodSums sums = new MethodSums();
        Pattern row = Pattern.compile("\\s*(\\d+)(?:" + unit + ")?\\s+\\S+%\\s+\\S+%\\s+(\\d+)(?:" + unit + ")?\\s+\\S+%\\s+(.*)");
        for (String line : pprof(dir, go, "-sample_index=" + type, "-unit=" + unit, "-top", "-nodecount=1000000", "-nodefraction=0", "profile.pb.gz")) {
            Matcher matcher = row.matcher(line);
            if (matcher.matches()) {
                sums.put(matcher.group(3), Long.parseLong(matcher.group(1)), Long.parseLong(matcher.group(2)));
            }
        }
        return sums;
    }

    /** The nanoseconds of each value of a label. */
    private static Map<String, Long> tags(Path dir, String go, String label) throws IOException, InterruptedException {
        Map<String, Long> sums = new HashMap<>();
        boolean inside = false;
        for (String line : pprof(dir, go, "-sample_index=cpu", "-unit=ns", "-tags", "profile.pb.gz")) {
            Matcher matcher = Pattern.compile("\\s*(\\d+)(?:ns)? \\([^)]*\\): (.*)").matcher(line);
            if (inside && matcher.matches()) {
                sums.put(matcher.group(2), Long.parseLong(matcher.group(1)));
            } else {
                inside = line.trim().startsWith(label + ":");
            }
        }
        return sums;
    }

    private static List<String> pprof(Path dir, String go, String... arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(Arrays.asList(go, "tool", "pprof"));
        command.addAll(Arrays.asList(arguments));
        Path said = Paths.get("pprof.txt").toAbsolutePath();
        ProcessBuilder builder = new ProcessBuilder(command).directory(dir.toFile()).redirectErrorStream(true);
        builder.environment().putIfAbsent("HOME", System.getProperty("user.home"));
        int exit = builder.redirectOutput(said.toFile()).start().waitFor();
        List<String> lines = Files.readAllLines(said, StandardCharsets.UTF_8);
        Check.that(exit == 0 || arguments[0].equals("-h"), command + " ended with " + exit + ": " + lines);
        return lines;
    }

    static class Program {
        public static void main(String[] args) throws InterruptedException {
            Thread[] workers = new Thread[2];
            for (int at = 0; at < workers.length; at++) {
                workers[at] = new Thread(() -> Recursion.work(4), "worker-" + at);
                workers[at].start();
            }
            for (Thread worker : workers) {
                worker.join();
            }
        }
    }
}
