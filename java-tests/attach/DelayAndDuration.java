/*
 * start= and duration= limit a recording, at the JVM's start and on attach. Users profile the
 * steady state without the warm-up, or one minute of a service that runs for months. The file must
 * not contain what ran before or after, and it must exist while the program goes on.
 *
 * @test
 * @summary start= and duration= bound what is recorded
 * @key attach newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main DelayAndDuration
 */

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;

import dev.vouch.test.Attach;
import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Profile;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Skip;
import dev.vouch.test.Vm;

public class DelayAndDuration {
    private static final int DELAY_MS = 1_500;

    public static void main(String[] args) throws IOException {
        // The delayed recording waits for its start. The other parts run in that time, but only
        // after the early part, which must not be slowed down.
        try (Running delayed = Vm.with("start=" + DELAY_MS + "ms,duration=200ms,interval=1ms").start(Program.class, "report.json", "report.json")) {
            delayed.awaitOut("early_until_ms");
            neverBegun();
            onAttach();
            atStart(delayed.waitFor().ok());
        }
    }

    /**
     * If the program ends before its recording begins, the agent says so and writes no empty
     * profile.
     */
    private static void neverBegun() {
        Run run = Vm.with("start=1h").run(Program.class, "short").ok();
        Check.equal("[[vouch] the program ended before the recording began: nothing was written]", run.vouchLines().toString(), "message");
        Check.empty(run.files(), "files");
    }

    private static void atStart(Run run) {
        Skip.unless(run.number("early_until_ms") < DELAY_MS,
            "this machine was too slow for the test: the early part ran until " + run.value("early_until_ms") + " ms");
        bounded(run.profile(), run.report());
        Check.equal(1, run.vouchLines().stream().filter(line -> line.contains("wrote")).count(), "times that files were written");
    }

    private static void onAttach() {
        try (Running child = Vm.without().start(Program.class, "waits", "profile.json")) {
            child.awaitOut("early_until_ms");
            try (Attach attach = Attach.to(child)) {
                attach.must("start=1h,out=never.json");
                attach.mustNot("out=second.json");
                child.awaitErr("[vouch] a recording is running already");
                attach.must("stop");
                child.awaitErr("[vouch] the recording that was to begin is called off");

                // The program already works when the recording begins, so a slow machine does no
                // harm.
                child.stdin().println();
                attach.must("start=10ms,duration=200ms,interval=1ms,out=profile.json,report=report.json");
                child.awaitOut("written");
                attach.mustNot("stop");
                // A new recording can start after one that ended by itself.
                attach.must("out=again.json");
                attach.must("stop");
                child.stdin().println();
            }
            Run run = child.waitFor().ok();
            bounded(run.profile(), run.report());
            Check.equal("[again.json, profile.json, report.json]", run.files().toString(), "files");
        }
    }

    private static void bounded(Profile profile, Report report) {
        Check.equal(0, profile.track("main").weightOf("DelayAndDuration$Program.early"), "weight of what ran before the recording");
        // The machine's load decides how much CPU time the program gets within 200 ms.
        Check.atLeast(1, profile.track("main").weightOf("DelayAndDuration$Program.during"), "weight of what ran meanwhile");
        Check.equal(0, profile.track("main").weightOf("DelayAndDuration$Program.after"), "weight of what ran after the recording");
        Check.atLeast(200, report.wallMs(), "length of the recording");
    }

    /** Burns CPU before the recording, until its file exists, and afterwards. */
    static class Program {
        public static void main(String[] args) throws IOException {
            early();
            System.out.println("early_until_ms=" + ManagementFactory.getRuntimeMXBean().getUptime());
            if (args[0].equals("waits")) {
                System.in.read();
            }
            if (args.length > 1) {
                Path file = Paths.get(args[1]);
                while (!Files.exists(file)) {
                    during();
                }
                after();
                System.out.println("written");
            }
            if (args[0].equals("waits")) {
                System.in.read();
            }
        }

        private static void early() {
            Burn.millis(60);
        }

        private static void during() {
            Burn.millis(5);
        }

        private static void after() {
            Burn.millis(100);
        }
    }
}
