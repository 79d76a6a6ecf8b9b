/*
 * Whose work it is must not depend on how that is said. A context's class may itself work for
 * somebody when it is asked what to say (an entity that is loaded then); and a pool's thread may
 * have had traces opened on it, as many as there can be, that nobody closed. What comes next is in
 * its own context and its own trace.
 *
 * @test
 * @summary contexts that are entered while one is entered, and carried work where no trace can be opened any more
 * @key newest
 * @library /lib /api/src
 * @build dev.vouch.test.* dev.vouch.Vouch
 * @run main Within
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

public class Within {
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
     * All that is sampled of a method's work says that, but for what was so in the moment in which
     * it began or ended.
     */
    private static void said(Run run, String method, String field, String expected) {
        long right = 0;
        long wrong = 0;
        for (Sample sample : run.profile().samples()) {
            if (sample.has("Within$Program." + method)) {
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
        /** Of arithmetic: an eighth of a second and more. */
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
            // Of a virtual thread's CPU time nobody is told.
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
            // What it gives away is in its trace, too, and it is so still when that comes back.
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
