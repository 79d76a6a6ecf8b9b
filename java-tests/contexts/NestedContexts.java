/*
 * Contexts and traces must be right in unusual situations. A context object may enter another
 * context while the agent asks it for its labels, as an entity does that loads then. A pool's
 * thread may have reached the maximum of open traces, none of them closed. Later work must still be
 * in its own context and trace.
 *
 * @test
 * @summary contexts entered inside another's labels, and wrapped tasks on a thread without free
 * traces
 * @key newest
 * @library /lib /api/src
 * @build dev.vouch.test.* dev.vouch.Vouch
 * @run main NestedContexts
 */

import java.lang.reflect.Method;

import dev.vouch.Scope;
import dev.vouch.Trace;
import dev.vouch.Vouch;
import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.Vm;

public class NestedContexts {
    private static final long MS = 100;
    private static final int OPEN = 64;

    public static void main(String[] args) {
        Run run = Vm.with("interval=1ms").run(Program.class).ok();
        said(run, "platform", "value", "loaded");
        if (Vm.major() >= 21) {
            said(run, "virtual", "value", "loaded");
        }
        said(run, "carried", "trace_id", "00000000000000020000000000000001");
        said(run, "untraced", "trace_id", null);
        said(run, "nested", "trace_id", "00000000000000020000000000000001");
        said(run, "after", "trace_id", "00000000000000010000000000000001");
    }

    /**
     * Asserts that a method's samples have this value, except for some at its beginning or end.
     */
    private static void said(Run run, String method, String field, String expected) {
        long right = 0;
        long wrong = 0;
        for (Sample sample : run.profile().samples()) {
            if (sample.has("NestedContexts$Program." + method)) {
                String said = sample.says(field);
                if (expected == null ? said == null : expected.equals(said)) {
                    right += sample.weight;
                } else {
                    wrong += sample.weight;
                }
            }
        }
        Check.atLeast(MS / 2, right, "ms of " + method + " in " + field + " " + expected);
        Check.atMost(right / 4, wrong, "ms of " + method + " in another " + field);
    }

    static class Loaded {
        @Override
        public String toString() {
            try (Scope scope = Vouch.with("loading")) {
                return "loaded";
            }
        }
    }

    static class Program {
        /** Enough arithmetic steps for an eighth of a second or more. */
        private static final int STEPS = 150_000_000;
        private static Runnable untraced;

        public static void main(String[] args) throws Exception {
            within(Program::platform);
            try {
                Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
                ((Thread) start.invoke(null, (Runnable) () -> within(Program::virtual))).join();
            } catch (NoSuchMethodException error) {
                System.out.println("no virtual threads here");
            }
            untraced = Vouch.wrap(Program::untraced);
            Runnable carried;
            try (Trace trace = Vouch.trace(2, 1, 9)) {
                carried = Vouch.wrap(Program::all);
            }
            for (int span = 1; span <= OPEN; span++) {
                Vouch.trace(1, 1, span);
            }
            carried.run();
            untraced.run();
            after();
        }

        private static void platform() {
            Burn.millis(MS);
        }

        private static void virtual() {
            // The CPU time of a virtual thread cannot be measured, so this burns a fixed number of
            // steps.
            Burn.sink = Burn.work(STEPS);
        }

        private static void within(Runnable work) {
            try (Scope scope = Vouch.with(new Loaded())) {
                work.run();
            }
        }

        private static void carried() {
            Burn.millis(MS);
        }

        private static void all() {
            carried();
            // A task that is wrapped here is in this trace too, and the trace is still open after
            // it ran.
            Runnable given = Vouch.wrap(Program::nested);
            untraced.run();
            given.run();
            nested();
        }

        private static void nested() {
            Burn.millis(MS / 2);
        }

        private static void untraced() {
            Burn.millis(MS);
        }

        private static void after() {
            Burn.millis(MS);
        }
    }
}
