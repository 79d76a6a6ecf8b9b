/*
 * A recording on disk contains everything that the profile is made from. So a kept recording
 * (recording=keep) must give the run's own profile and report, to the last row. A size limit
 * discards the oldest time, and the report says so. A full disk or a deleted file must harm neither
 * the program nor the profile.
 *
 * @test
 * @summary a recording on disk gives the profile that the run itself wrote
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=600 KeptRecording
 */

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.TreeSet;

import com.google.gson.JsonObject;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Profile;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Skip;
import dev.vouch.test.Tool;
import dev.vouch.test.Vm;

public class KeptRecording {
    /** In tenths of a second: longer than anything that the test waits for. */
    private static final String LONG = "600";

    public static void main(String[] args) throws Exception {
        whole();
        none();
        // Both programs wait for something that happens about once a second, so they run at once.
        try (Running full = Vm.with("recording=keep").launcher("sh", "-c", "ulimit -S -f 8; exec \"$@\"", "sh").start(Program.class, LONG);
                Running gone = Vm.with("").start(Program.class, LONG)) {
            gone.awaitOut("ready");
            Files.delete(gone.dir.resolve("profile.vouch"));
            String recording = filled(full);
            gone(gone);
            full(full, recording);
        }
        limited();
    }

    private static void whole() throws Exception {
        // Broken walks cause refutations, and all kinds of events are recorded.
        Run run = Vm.lab("recording=keep,events=all,break=truncated/20,walker=asgct,out=profile.folded").run(Program.class, "5").ok();
        Check.that(run.report().samples("refuted") > 0, "something is refuted");
        Check.equal(new TreeSet<>(Arrays.asList("profile.folded", "profile.json", "report.json", "profile.vouch")), run.files(), "what is there");
        String mode = PosixFilePermissions.toString(Files.getPosixFilePermissions(run.dir.resolve("profile.vouch")));
        Check.equal("rw-------", mode, "who may read a recording");
        JsonObject cost = run.report().json.getAsJsonObject("recording_file");
        Check.between(1_000, cost.get("bytes").getAsLong(), Files.size(run.dir.resolve("profile.vouch")), "bytes of it that the report tells of");
        double spent = cost.get("cpu_ms").getAsDouble();
        Check.that(spent > 0 && spent <= run.report().agentCpuMs(), "the agent's time that it took, in ms: " + spent);
        String said = Tool.vouch(run.dir, "recover", "profile.vouch", "--out", "again.json", "--report", "again-report.json").ok();
        Check.that(!said.contains("killed or crashed") && !said.contains("damaged"), "it was ended: " + said);
        Profile again = Profile.read(run.dir.resolve("again.json"));
        same(run.profile().json, again.json, "vouch");
        Tool.vouch(run.dir, "convert", "profile.vouch", "--out", "again.folded", "--out", "again.html").ok();
        Check.equal(Files.readAllLines(run.dir.resolve("profile.folded")), Files.readAllLines(run.dir.resolve("again.folded")), "folded stacks");
        Check.that(Files.size(run.dir.resolve("again.html")) > 0, "there is a page");
        same(run.report().json, Report.read(run.dir.resolve("again-report.json")).json, "");
    }

    /** Compares all fields, except for the memory that tables take. */
    private static void same(JsonObject one, JsonObject other, String report) {
        for (JsonObject each : new JsonObject[] {one, other}) {
            JsonObject of = report.isEmpty() ? each : each.getAsJsonObject("meta").getAsJsonObject(report);
            of.remove("bytes_recorded");
        }
        for (String key : one.keySet()) {
            String first = one.get(key).toString();
            String second = String.valueOf(other.get(key));
            int at = 0;
            while (at < Math.min(first.length(), second.length()) && first.charAt(at) == second.charAt(at)) {
                at++;
            }
            int from = Math.max(0, at - 60);
            Check.that(first.equals(second), key + " differs: " + first.substring(from, Math.min(first.length(), at + 60)) + " | "
                + second.substring(Math.min(from, second.length()), Math.min(second.length(), at + 60)));
        }
        Check.equal(one.keySet(), other.keySet(), "what there is");
    }

    private static void none() throws IOException {
        Run run;
        try (Running child = Vm.with("recording=off").start(Program.class, LONG)) {
            child.awaitOut("ready");
            Check.empty(Run.files(child.dir), "files while it runs");
            child.stdin().println();
            run = child.waitFor().ok();
        }
        Check.that(run.report().json.get("recording_file").isJsonNull(), "what a file cost that there was not");
        Check.equal(new TreeSet<>(Arrays.asList("profile.json", "report.json")), run.files(), "what is there");
    }

    private static void limited() throws Exception {
        Run run;
        Path recording;
        try (Running child = Vm.with("recording=keep,recording-limit=128KB,interval=200us,witness=off").start(Program.class, LONG)) {
            child.awaitOut("ready");
            recording = child.dir.resolve("profile.vouch");
            long longest = 0;
            boolean shrunk = false;
            while (!shrunk && child.isAlive()) {
                long length = Files.size(recording);
                shrunk = length < longest;
                longest = Math.max(longest, length);
                Thread.sleep(20);
            }
            Skip.unless(shrunk, "the limit was not reached in a minute");
            Check.atLeast(50_000, longest, "bytes of the recording when it reached its limit");
            child.stdin().println();
            run = child.waitFor().ok();
        }
        Check.between(10_000, Files.size(recording), 96L << 10, "bytes of a recording with a limit of 128 KB");
        Tool.vouch(run.dir, "recover", "profile.vouch", "--out", "again.json", "--report", "again-report.json").ok();
        Report again = Report.read(run.dir.resolve("again-report.json"));
        Check.equal(run.report().signals(), again.signals(), "signals, each with a fate");
        Skip.unless(run.report().sampledIntervalUs() < 1_000, "sampling so often costs too much here, so that the file has all of it: " + run.report().engineNotes());
        Check.that(again.engineNotes().stream().anyMatch(note -> note.contains("recording-limit=")), "it says so: " + again.engineNotes());
        Check.that(again.samples("dropped") > run.report().samples("dropped"), "what is not in it counts as dropped");
    }

    /**
     * Waits until the file has reached its size limit, as on a full disk, and then lifts the limit.
     * Returns how the messages about the file begin.
     */
    private static String filled(Running child) {
        String recording = "[vouch] recording: " + child.dir.resolve("profile.vouch");
        child.awaitErr(recording + " cannot be written: ");
        child.tool("prlimit", "--pid", Long.toString(child.pid()), "--fsize=unlimited");
        return recording;
    }

    private static void full(Running child, String recording) throws Exception {
        child.awaitErr(recording + " goes on");
        child.stdin().println();
        Run run = child.waitFor().ok();
        String said = String.join("\n", run.vouchLines());
        Check.contains(said, "cannot be written: File too large", "what is said when it is full");
        Check.contains(said, "profile.vouch goes on", "what is said when there is room again");
        Tool.vouch(run.dir, "recover", "profile.vouch", "--out", "again.json", "--report", "again-report.json").ok();
        Report again = Report.read(run.dir.resolve("again-report.json"));
        Check.equal(run.report().signals(), again.signals(), "signals");
        Check.equal(run.report().samples("dropped"), again.samples("dropped"), "samples without room");
    }

    /** The recording was deleted while the program ran. */
    private static void gone(Running child) {
        child.awaitErr("[vouch] recording: ");
        child.stdin().println();
        Run run = child.waitFor().ok();
        Check.contains(String.join("\n", run.vouchLines()), "profile.vouch was deleted", "what is said");
        Check.equal(new TreeSet<>(Arrays.asList("profile.json", "report.json")), run.files(), "what is there");
    }

    static class Program {
        static volatile long sink;

        /** Burns for this many tenths of a second, or until a line arrives on stdin. */
        public static void main(String[] args) throws Exception {
            Thread[] threads = new Thread[3];
            for (int at = 0; at < threads.length; at++) {
                threads[at] = new Thread(() -> sink += Burn.millis(50), "short " + at);
                threads[at].start();
            }
            System.out.println("ready");
            for (int tenth = 0; tenth < Integer.parseInt(args[0]) && System.in.available() == 0; tenth++) {
                sink += Burn.millis(100);
                sink += new byte[1 << 20].length;
                synchronized (Program.class) {
                    sink++;
                }
            }
            System.gc();
            for (Thread thread : threads) {
                thread.join();
            }
        }
    }
}
