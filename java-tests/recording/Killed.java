/*
 * Users need the profile of a killed JVM most, and it cannot write one any more. But its recording
 * is next to where the profile would be, and `vouch recover` makes the profile from it. Recordings
 * of two runs with one name stay separate. A run that ends normally leaves nothing but its profile.
 *
 * @test
 * @summary a JVM that is killed, or crashes, has a profile all the same
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=600 Killed
 */

import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Random;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;

import dev.vouch.test.AwaitRecording;
import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Profile;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Scale;
import dev.vouch.test.Tool;
import dev.vouch.test.Track;
import dev.vouch.test.Vm;

public class Killed {
    private static final int THREADS = Scale.pick(4, 8);
    /**
     * On a busy machine the agent's thread may have to wait; the long form prints the usual values.
     */
    private static final double LOST_AT_MOST_MS = 2_000;

    public static void main(String[] args) throws Exception {
        Random random = new Random(42);
        for (int kill = 0; kill < Scale.pick(1, 48); kill++) {
            try (Running child = Vm.with("").start(Program.class, "burn")) {
                killed(child, child.dir.resolve("profile.vouch"), random);
            }
        }
        crashed();
        again(random);
    }

    /** The JVM leaves nothing in its folder but its recording. */
    private static void killed(Running child, Path recording, Random random) throws Exception {
        child.awaitOut("ready");
        AwaitRecording.awaitAllIs(recording);
        // The signal comes at a random time after this.
        Thread.sleep(random.nextInt(Scale.pick(400, 2_000)));
        String early = Tool.vouch(child.dir, "recover", recording.toString(), "--out", "early.json").ok();
        Check.contains(early, "its process is still running", "what is said of a process that runs");
        Files.delete(child.dir.resolve("early.json"));
        long at = System.nanoTime();
        child.signal("KILL");
        Run run = child.waitForAnyEnd();
        Check.equal(137, run.exit, "exit code of a JVM that was killed");
        TreeSet<String> left = new TreeSet<>();
        if (recording.getParent().equals(run.dir)) {
            left.add("profile.vouch");
        }
        Check.equal(left, run.files(), "what a killed JVM leaves");
        recovered(run.dir, recording, at);
    }

    /** All threads are in the profile, with all their time until shortly before the end. */
    private static void recovered(Path dir, Path recording, long endsNanos) throws IOException, InterruptedException {
        String said = Tool.vouch(dir, "recover", recording.toString(), "--out", "got.json", "--report", "got-report.json").ok();
        Check.that(said.contains("its process was killed or crashed") || said.contains("it ends in the middle of a block"),
            "what is said of a process that is gone, perhaps while it wrote: " + said);
        Report report = Report.read(dir.resolve("got-report.json"));
        Check.that(report.engineNotes().stream().anyMatch(note -> note.startsWith("recovered from an unfinished recording")),
            "the report says where it is from: " + report.engineNotes());
        Profile profile = Profile.read(dir.resolve("got.json"));
        double last = 0;
        double missing = 0;
        for (int thread = 0; thread < THREADS; thread++) {
            String name = "burning " + thread;
            // Skipped signals would have made later samples heavier.
            Report.ThreadRow row = report.thread(name);
            Check.near(row.cpuMs, row.sampledMs, 2 + report.sampledIntervalUs() / 1e3 + row.cpuMs / 50, "sampled time of " + row + " until its last sample");
            missing = Math.max(missing, 1 - row.sampledMs / row.cpuMs);
            Track track = profile.track(name);
            Check.that(track.weightOf("Killed$Program.burn") > track.weight() / 2, "most of the time of " + name + " is in burn");
            last = Math.max(last, track.samples.get(track.samples.size() - 1).timeMs);
        }
        System.out.printf("lost: the last %.0f ms, and of what was before %.2f %% in the worst thread%n", endsNanos / 1e6 - last, missing * 100);
        // The JVM died some time after the signal, and how long that took depends on the machine.
        Check.atMost(LOST_AT_MOST_MS, endsNanos / 1e6 - last, "milliseconds before the end that are lost");
    }

    private static void crashed() throws Exception {
        Run run;
        long at;
        try (Running child = Vm.with("").launcher("sh", "-c", "ulimit -c 0; exec \"$@\"", "sh").start(Program.class, "crash")) {
            child.awaitOut("ready");
            AwaitRecording.awaitAllIs(child.dir.resolve("profile.vouch"));
            at = System.nanoTime();
            child.stdin().println();
            run = child.waitForAnyEnd();
        }
        Check.equal(134, run.exit, "exit code of a JVM that crashed");
        Check.that(run.files().contains("profile.vouch"), "what a crashed JVM leaves: " + run.files());
        recovered(run.dir, run.dir.resolve("profile.vouch"), at);
    }

    /**
     * A container that restarts with the same command line must not overwrite the previous run's
     * recording. A JVM that halts notifies the agent, so it leaves its profile and no recording.
     */
    private static void again(Random random) throws Exception {
        Path dir = Files.createTempDirectory(Paths.get("").toAbsolutePath(), "again-");
        String options = "out=" + dir.resolve("app.json.gz") + ",report=" + dir.resolve("app-report.json");
        for (String recording : new String[] {"app.vouch", "app.2.vouch"}) {
            try (Running child = Vm.with(options).noFiles().start(Program.class, "burn")) {
                if (!recording.equals("app.vouch")) {
                    child.awaitErr("[vouch] a run that was killed");
                }
                killed(child, dir.resolve(recording), random);
            }
        }
        Run last = Vm.with(options).noFiles().run(Program.class, "halt");
        Check.equal(7, last.exit, "exit code of a JVM that halts");
        Check.that(Report.read(dir.resolve("app-report.json")).signals() > 0, "it was sampled");
        Check.that(last.vouchLines().stream().anyMatch(line -> line.contains("app.vouch") && line.contains("app.2.vouch")),
            "both are told of: " + last.vouchLines());
        Check.equal(new TreeSet<>(Arrays.asList("app.json.gz", "app-report.json", "app.vouch", "app.2.vouch")), Run.files(dir), "what is there");
        Tool.vouch(dir, "recover", "app.vouch", "app.2.vouch").ok();
        Check.that(Files.exists(dir.resolve("app.recovered.json.gz")) && Files.exists(dir.resolve("app.2.recovered.json.gz")),
            "each recording has its profile");
    }

    static class Program {
        private static final CountDownLatch BURNING = new CountDownLatch(THREADS);
        static volatile long sink;

        public static void main(String[] args) throws Exception {
            if (args[0].equals("halt")) {
                sink = Burn.millis(100);
                Runtime.getRuntime().halt(7);
            }
            for (int thread = 0; thread < THREADS; thread++) {
                new Thread(Program::burn, "burning " + thread).start();
            }
            BURNING.await();
            System.out.println("ready");
            System.in.read();
            Field unsafe = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
            unsafe.setAccessible(true);
            ((sun.misc.Unsafe) unsafe.get(null)).putLong(0L, 1);
        }

        private static void burn() {
            sink += Burn.millis(50);
            BURNING.countDown();
            while (true) {
                sink += Burn.millis(10);
            }
        }
    }
}
