/*
 * A program handles SIGPROF itself, as a library with its own profiler does. It must get all
 * signals that it raised. The agent stops its engine and says so as soon as it notices the other
 * handler. What was sampled before is in the profile.
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
        // The message is printed at once, and again in the summary.
        Check.equal(2L, run.vouchLines().stream().filter(line -> line.contains(TAKEN)).count(), "lines that say it: " + run.err);
        Check.that(run.report().json.get("engine_stopped").getAsBoolean(), "the report says that the engine was stopped");
        Check.equal(0L, run.number("strange"), "signals that were not the program's own, once the engine had been stopped");
        Check.equal(5L, run.number("own"), "of five of its own");
        Check.atLeast(100, run.profile().track("main").weightOf("OwnHandler$Program.sampled"), "weight of what ran before");
        Check.equal(0L, run.profile().track("main").weightOf("OwnHandler$Program.unsampled"), "weight of what ran after");
        run.report().checkSum();
    }

    /** A handler that was installed before the attach stays, and the agent records nothing. */
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
            // The JVM starts a thread for each signal, which may not have run yet. While main
            // sleeps, it gets no further signals.
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
                // Pending signals of one kind merge into one, so each is awaited before the next.
                while (SIGNALS.get() == seen) {
                    Thread.sleep(1);
                }
            }
            System.out.println("own=" + (SIGNALS.get() - before));
        }

        private static void sampled() {
            Burn.millis(200);
        }

        /**
         * This is enough CPU time for dozens of signals, or a dozen with a slow tick, if the engine
         * ran.
         */
        private static void unsampled() {
            Burn.millis(150);
        }
    }
}
