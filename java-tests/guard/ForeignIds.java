/*
 * A walk may give for a method's id what is none: an id's own method, a small number. Up to JDK 25
 * the JVM follows whatever it is asked about, and dies of that. (AsyncGetCallTrace did so twice in
 * 17 million walks.) Here each stack has such an id in its middle: the address of something else, a
 * small number, the method itself. The program must go on, and each of those stacks be refuted.
 *
 * @test
 * @summary what is no method's id is never asked about
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
        Report report = Vm.with("interval=1ms,walker=asgct,break=foreign_method,threads=^main$").run(Program.class).ok().report();
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
