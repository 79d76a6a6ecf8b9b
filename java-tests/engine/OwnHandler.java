/*
 * A program that handles SIGPROF itself, as a library with a profiler of its own does. It gets the
 * signals that were meant for it, all of them; those of Vouch's engine end as soon as that is seen,
 * which is said; and what was sampled before is in the profile.
 *
 * @test
 * @summary a program's own handler of SIGPROF, put in place before or after Vouch's
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main OwnHandler
 */

import java.io.IOException;
import java.util.concurrent.atomic.AtomicInteger;

import dev.vouch.test.Attach;
import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Vm;

import sun.misc.Signal;

public class OwnHandler {
    private static final String TAKEN = "has replaced Vouch's handler for SIGPROF";

    public static void main(String[] args) throws IOException {
        for (String engine : new String[] {"perf", "timer", "itimer"}) {
            after(engine);
        }
        before();
    }

    private static void after(String engine) {
        Run run;
        try (Running running = Vm.with("interval=1ms,engine=" + engine).start(Program.class, "after")) {
            running.awaitOut("taken");
            running.awaitErr("[vouch] the engine is stopped, and what the program does from here on is not sampled: other code in this process " + TAKEN);
            running.stdin().println("go on");
            run = running.waitFor().ok();
        }
        // At once, and in the summary.
        Check.equal(2L, run.vouchLines().stream().filter(line -> line.contains(TAKEN)).count(), "lines that say it: " + run.err);
        Check.that(run.report().json.get("engine_stopped").getAsBoolean(), "the report says that the engine was stopped");
        Check.equal(0L, run.number("strange"), "signals that were not the program's own, once the engine had been stopped");
        Check.equal(5L, run.number("own"), "of five of its own");
        Check.atLeast(100, run.profile().track("main").weightOf("OwnHandler$Program.sampled"), "weight of what ran before");
        Check.equal(0L, run.profile().track("main").weightOf("OwnHandler$Program.unsampled"), "weight of what ran after");
        run.report().checkSum();
    }

    /** Whoever had it first keeps it. */
    private static void before() throws IOException {
        try (Running running = Vm.without().start(Program.class, "before")) {
            running.awaitOut("ready");
            try (Attach attach = Attach.to(running)) {
                Check.that(attach.load(Vm.agent(), "out=none.json") != 0, "a recording without a signal");
            }
            running.awaitErr("[vouch] SIGPROF is taken");
            running.stdin().println("end");
            Run run = running.waitFor();
            Check.equal(0, run.exit, "exit code");
            Check.equal(5L, run.number("own"), "of five of its own");
            Check.empty(run.files(), "files");
        }
    }

    static class Program {
        private static final AtomicInteger SIGNALS = new AtomicInteger();

        public static void main(String[] args) throws Exception {
            boolean after = args[0].equals("after");
            if (after) {
                sampled();
            }
            Signal profiling = new Signal("PROF");
            Signal.handle(profiling, signal -> SIGNALS.incrementAndGet());
            System.out.println(after ? "taken" : "ready");
            System.in.read();
            // The JVM has a thread made for each, which may not have run yet; and who sleeps gets
            // no more.
            int before = -1;
            while (before != SIGNALS.get()) {
                before = SIGNALS.get();
                Thread.sleep(200);
            }
            unsampled();
            System.out.println("strange=" + (SIGNALS.get() - before));
            for (int times = 1; times <= 5; times++) {
                int seen = SIGNALS.get();
                Signal.raise(profiling);
                // Signals of one kind are one until they are taken.
                while (SIGNALS.get() == seen) {
                    Thread.sleep(1);
                }
            }
            System.out.println("own=" + (SIGNALS.get() - before));
        }

        private static void sampled() {
            Burn.millis(200);
        }

        /** Dozens of signals, or a dozen with a slow tick, if the engine went on. */
        private static void unsampled() {
            Burn.millis(150);
        }
    }
}
