/*
 * A program recurses in ever new ways: no two of its stacks are alike, and each has thousands of
 * frames. All of them would fill the machine's memory within minutes. Less of each stack is kept,
 * and the profile reports that; all time is kept.
 *
 * @test
 * @summary stacks that are never alike take limited memory, and cut ones are reported
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main StackBudget
 */

import java.util.Random;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Memory;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Vm;

public class StackBudget {
    private static final int DEEP = 4_000;
    /** The memory that 2,097,152 locations may take until the program ends, with a small JVM. */
    private static final long MOST_KIB = 350 << 10;
    private static final int TRIES = 4;

    public static void main(String[] args) {
        Run run = null;
        long cut = 0;
        // Slower walks, such as AsyncGetCallTrace's, and a busy machine give too few stacks in the
        // time.
        for (int seconds = 3; cut == 0 && seconds < 3 << TRIES; seconds *= 2) {
            run = Vm.with("verbose,walker=own,interval=1ms,depth=" + DEEP).flags("-Xmx64m").run(Program.class, Integer.toString(seconds)).ok();
            cut = run.report().stacksCut();
        }
        Check.that(cut > 0, "nothing was cut for want of room, of " + run.report().signals() + " signals");
        String told = String.format("%,d stacks were cut in the middle", cut);
        Check.that(run.vouchLines().stream().anyMatch(line -> line.contains(told)), told + " is not told: " + run.vouchLines());
        Check.atMost(MOST_KIB, run.number("most_kib"), "KiB of memory");

        Report report = run.report();
        // Some samples are dropped if they come faster than such stacks can be read.
        double charged = report.threads().stream().mapToDouble(thread -> thread.cpuMs).sum();
        Check.between(0.98, report.weightMs("signals") / charged, 1.02, "weight of all signals, of what the kernel charged");
        // Only whole stacks can be proven.
        Check.atLeast(cut, report.samples("plausible") + report.samples("refuted"), "samples that are not proven");
    }

    static class Program {
        private static final Random RANDOM = new Random(1);

        public static void main(String[] args) throws Exception {
            long millis = 1_000L * Integer.parseInt(args[0]);
            Thread deep = new Thread(null, () -> {
                long until = Burn.cpuNanos() + millis * 1_000_000;
                while (Burn.cpuNanos() < until) {
                    one(DEEP + 1_000);
                }
            }, "deep", 1 << 28);
            deep.start();
            deep.join();
            System.out.println("most_kib=" + Memory.kib("VmHWM"));
        }

        private static long one(int more) {
            return more == 0 ? Burn.work(2_000) : 1 + (RANDOM.nextBoolean() ? one(more - 1) : other(more - 1));
        }

        private static long other(int more) {
            return more == 0 ? Burn.work(2_000) : 2 + (RANDOM.nextBoolean() ? one(more - 1) : other(more - 1));
        }
    }
}
