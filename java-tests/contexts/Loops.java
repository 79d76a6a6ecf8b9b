/*
 * Loops that touch no memory are inlined inside a context, inside a trace, and after either. The
 * compiler may move the store of a context's number past such a loop. Samples of the loop inside
 * would then have the context from before, and those after it the closed one. G1 makes the JVM
 * split its loops, which hides the mistake, so the test uses the serial collector.
 *
 * @test
 * @summary compiled loops are under the context that they were run in
 * @library /lib /api/src
 * @build dev.vouch.test.* dev.vouch.Vouch
 * @run main/timeout=200 Loops
 */

import dev.vouch.Scope;
import dev.vouch.Trace;
import dev.vouch.Vouch;
import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.FixedWork;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.Vm;

public class Loops {
    public static void main(String[] args) {
        check("value", "work", "context");
        check("span_id", "0000000000000003", "trace");
    }

    private static void check(String field, String expected, String what) {
        Run run = Vm.with("interval=1ms").collector("-XX:+UseSerialGC").run(Program.class, what).ok();
        long inside = 0;
        long behind = 0;
        for (Sample sample : run.profile().samples()) {
            if (!sample.leaf().holds()) {
                continue;
            }
            if (sample.has("Loops$Program.inside")) {
                Check.equal(expected, sample.says(field), "the " + what + " of what is inside, " + sample);
                inside += sample.weight;
            } else if (sample.has("Loops$Program.behind")) {
                Check.equal(null, sample.says(field), "the " + what + " of what is behind, " + sample);
                behind += sample.weight;
            }
        }
        Check.that(inside > 120 && behind > 120, what + ": weight of the loops: " + inside + " inside, " + behind + " behind");
    }

    static class Program {
        private static final int WARM = 60_000;
        private static final int LONG = 4_000_000;
        private static final long BURNT_MS = 600;

        public static void main(String[] args) {
            boolean traced = args[0].equals("trace");
            int value = 1;
            // The loops are inlined into one compiled method only if they are short while it warms
            // up.
            for (int i = 0; i < WARM; i++) {
                value = traced ? traced(value, 50 + (i & 15)) : round(value, 50 + (i & 15));
            }
            for (FixedWork fixedWork = new FixedWork(BURNT_MS); fixedWork.isOn();) {
                value = traced ? traced(value, LONG) : round(value, LONG);
            }
            Burn.sink = value;
        }

        private static int round(int value, int steps) {
            int inside;
            try (Scope scope = Vouch.with("work")) {
                inside = inside(value, steps);
            }
            return behind(inside, steps);
        }

        private static int traced(int value, int steps) {
            int inside;
            try (Trace trace = Vouch.trace(1, 2, 3)) {
                inside = inside(value, steps);
            }
            return behind(inside, steps);
        }

        private static int inside(int value, int steps) {
            for (int i = 0; i < steps; i++) {
                value = value * 31 + (i ^ value >>> 7);
            }
            return value;
        }

        private static int behind(int value, int steps) {
            for (int i = 0; i < steps; i++) {
                value = value * 37 + (i ^ value >>> 5);
            }
            return value;
        }
    }
}
