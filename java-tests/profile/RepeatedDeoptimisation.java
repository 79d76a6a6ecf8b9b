/*
 * Compiled code is deoptimised again and again. Each time the JVM removes a compiled frame, and
 * creates an interpreted frame for each inlined method. A sample in between is between two stacks,
 * and neither can be read. A program that does this often, with new code or with exceptions in a
 * loop, must not lose these samples.
 *
 * @test
 * @summary a thread has its stack while the JVM replaces compiled frames
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=300 RepeatedDeoptimisation
 */

import java.util.List;
import java.util.stream.Collectors;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.FixedWork;
import dev.vouch.test.Pace;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.Skip;
import dev.vouch.test.Vm;

public class RepeatedDeoptimisation {
    private static final String ROOT = "RepeatedDeoptimisation$Program.main";
    private static final long MS = 2_500;

    public static void main(String[] args) {
        // The trigger: AsyncGetCallTrace reports this state and finds no stack.
        Run bare = run(Vm.with("interval=1ms,walker=asgct,recovery=off"), MS);
        long met = unwalked(bare);
        Skip.unless(met >= 40, "frames were being made in " + met + " samples alone");

        Pace pace = Pace.of(bare.report());
        Run run = run(pace.with("walker=auto"), pace.millis(MS));
        Report report = run.report();
        Check.atMost(Check.mostOf(met, 0.01), unwalked(run), "samples without a stack in which frames were being made, of " + met + " without Vouch's own walker");
        List<Sample> wrong = run.profile().track("main").samples.stream()
            .filter(sample -> sample.root().function.startsWith("[refuted"))
            .collect(Collectors.toList());
        Check.atMost(Check.mostOf(report.walked(), 0.001), wrong.size(), "refuted samples of " + report.walked() + ", as " + wrong.stream().limit(2).collect(Collectors.toList()));
        long whole = run.profile().track("main").samples.stream().filter(sample -> sample.has("RepeatedDeoptimisation$Program.at") && sample.root().function.equals(ROOT)).count();
        // The second run may have another interval, and so other counts.
        double expected = met * (double) ofJava(report) / ofJava(bare.report());
        Check.atLeast(expected, whole, "whole stacks with the method that is given up, of " + ofJava(report) + " samples of Java");
    }

    private static long ofJava(Report report) {
        return report.walked() + report.samples("unwalked");
    }

    private static Run run(Vm vm, long millis) {
        // Each exception must be thrown where it occurs; otherwise the JVM throws a preallocated
        // one. (Many are thrown within an interval, so two samples never have the same one.)
        return vm.flags("-Xmx128m", "-XX:-OmitStackTraceInFastThrow").run(Program.class, Long.toString(millis)).ok();
    }

    private static long unwalked(Run run) {
        return run.report().unwalkedCodes().getOrDefault("deopt", 0L);
    }

    static class Program {
        public static void main(String[] args) {
            int[] four = {1, 2, 3, 4};
            FixedWork fixedWork = new FixedWork(Long.parseLong(args[0]));
            long sum = 0;
            while (fixedWork.isOn()) {
                for (int i = 0; i < 500; i++) {
                    sum += safely(four, i & 7);
                }
            }
            Burn.sink = sum;
        }

        private static int safely(int[] numbers, int index) {
            try {
                return at(numbers, index);
            } catch (ArrayIndexOutOfBoundsException error) {
                return 1;
            }
        }

        /** The compiled code is deoptimised each time that the index is out of range. */
        private static int at(int[] numbers, int index) {
            return numbers[index];
        }
    }
}
