/*
 * A walk may return a method id that is invalid. Up to JDK 25 the JVM dereferences any id that it
 * is asked about, and crashes. (AsyncGetCallTrace returned such ids twice in 17 million walks.)
 * Here each stack has one in its middle: an unrelated address, a small number, or the Method
 * itself. The program must go on, and each of these stacks must be refuted.
 *
 * @test
 * @summary the JVM is never asked about an invalid method id
 * @library /lib
 * @build dev.vouch.test.*
 * @run main ForeignIds
 */

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Report;
import dev.vouch.test.Vm;

public class ForeignIds {
    private static final int DEPTH = 9;

    public static void main(String[] args) {
        Report report = Vm.lab("interval=1ms,walker=asgct,break=foreign_method,threads=^main$").run(Program.class).ok().report();
        Check.atLeast(300, report.walked(), "stacks, each with such an id");
        Check.atLeast(0.9 * report.walked(), report.samples("refuted"), "of them, refuted");
    }

    static class Program {
        public static void main(String[] args) {
            down(DEPTH);
        }

        private static int down(int depth) {
            if (depth > 0) {
                return down(depth - 1) + depth % 3;
            }
            Burn.millis(1_000);
            return depth;
        }
    }
}
