/*
 * Compiled code that the JVM gives up again and again: each time it takes a frame down, and makes
 * those of the interpreter in its place, one for each method that was one with others in it.
 * Whoever is met while these are being made stands between two stacks, of which neither can be
 * read. A program that does this a lot (new code that meets what it was not made for, an exception
 * in the midst of a loop) must not lose the samples that are about just that.
 *
 * @test
 * @summary a thread whose frames are being made by the JVM in the place of compiled ones has its stack
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=300 GivenUpOften
 */

import java.util.List;
import java.util.stream.Collectors;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Pace;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.Skip;
import dev.vouch.test.Stint;
import dev.vouch.test.Vm;

public class GivenUpOften {
    private static final String ROOT = "GivenUpOften$Program.main";
    private static final long MS = 2_500;

    public static void main(String[] args) {
        // The trigger: AsyncGetCallTrace says that it was there, and gives up.
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
        long whole = run.profile().track("main").samples.stream().filter(sample -> sample.has("GivenUpOften$Program.at") && sample.root().function.equals(ROOT)).count();
        // The second run may have another interval, and so other counts.
        double expected = met * (double) ofJava(report) / ofJava(bare.report());
        Check.atLeast(expected, whole, "whole stacks with the method that is given up, of " + ofJava(report) + " samples of Java");
    }

    private static long ofJava(Report report) {
        return report.walked() + report.samples("unwalked");
    }

    private static Run run(Vm vm, long millis) {
        // Each of these exceptions is to be thrown where it is: else the JVM throws one that it has
        // made before. (And many of them within an interval: no sample is of the same one as the
        // last.)
        return vm.flags("-Xmx128m", "-XX:-OmitStackTraceInFastThrow").run(Program.class, Long.toString(millis)).ok();
    }

    private static long unwalked(Run run) {
        return run.report().unwalkedCodes().getOrDefault("deopt", 0L);
    }

    static class Program {
        public static void main(String[] args) {
            int[] four = {1, 2, 3, 4};
            Stint stint = new Stint(Long.parseLong(args[0]));
            long sum = 0;
            while (stint.isOn()) {
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

        /** The compiled code of it is given up each time that the index is none. */
        private static int at(int[] numbers, int index) {
            return numbers[index];
        }
    }
}
