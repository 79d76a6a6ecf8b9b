/*
 * Limits what deep stacks cost the agent: it needs time to read them, and they must not come faster
 * than it can read. When many threads are deep at once, no time is lost: a sample that found no
 * space stays due. A recursion without two equal stacks must not keep the agent busy. The agent
 * cuts most of its stacks and skips signals. Time of skipped signals has no stack, and the summary
 * reports that.
 *
 * @test
 * @summary deep stacks of many threads, or without repetition, cost a bounded share of the time
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=200 DeepCost
 */

import java.util.Random;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.FixedWork;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Track;
import dev.vouch.test.Vm;

public class DeepCost {
    private static final int DEEP = 5_000;
    private static final int DEEPER = 20_000;
    /** No walk takes longer than this; a longer one means that the machine paused. */
    private static final double STOOD_MS = 500;

    public static void main(String[] args) {
        together();
        neverAlike();
    }

    private static void together() {
        Report report = inTheDeep("together", DEEP).report();
        // Each thread has a few milliseconds pending at its end, when the others have filled the
        // lanes.
        Check.atMost(0.01, report.weightMs("dropped") / report.weightMs("signals"), "share of the time that found no room");
        Check.between(0.97, report.conserved(), 1.03, "weight of all samples, of what the kernel charged");
    }

    private static void neverAlike() {
        Run run = inTheDeep("neverAlike", 1_000);
        Report report = run.report();
        Check.atMost(0.02, report.weightMs("dropped") / report.weightMs("signals"), "share of the time that found no room");
        // A paused machine may have charged the agent's thread, as it did the program's.
        double stood = run.number("idle") / 1e6;
        Check.atMost(0.3 * report.cpuMs() + (stood < STOOD_MS ? 0 : stood), report.agentCpuMs(), "the agent's CPU time, in ms, of " + report.cpuMs());
    }

    private static Run inTheDeep(String what, int least) {
        Run run = Vm.with("interval=1ms").flags("-Xmx128m").run(Program.class, what).ok();
        double deep = 0;
        double all = 0;
        double skipped = 0;
        for (Track track : run.profile().tracks) {
            if (track.name.startsWith("deep-")) {
                all += track.weight();
                deep += track.samples.stream().filter(sample -> sample.depth() > least).mapToLong(sample -> sample.weight).sum();
                skipped += track.weightOf("[no stack: its signals were skipped, to keep sampling cheap]");
            }
        }
        Check.atLeast(0.5, deep / (all - skipped), "the trigger: share of the walked time that is spent in the deep");
        double outside = run.profile().tracks.stream().filter(track -> track.name.startsWith("deep-"))
            .mapToLong(track -> track.weightOf("[outside Java]")).sum();
        Check.atMost(0.11, outside / all, "share of its threads' time that is shown outside of Java");
        // A slow walk makes its thread rest. The next stack does not stand for that time, which has
        // no stack. If it is more than one percent, a warning names its share.
        Check.atLeast(0.02 * all, skipped, "ms without a stack, since signals were skipped");
        Check.atLeast(skipped, run.report().weightMs("unwalked"), "ms unwalked by the report");
        String share = run.err.stream().filter(line -> line.contains("(passed_over)")).findFirst().orElse("");
        Check.contains(share, "of the time has no stack, since signals were skipped", "the warning on stderr");
        return run;
    }

    static class Program {
        private static final int THREADS = 40;
        private static final long EACH_MS = 100;
        private static final long ALONE_MS = 2_500;
        /**
         * The longest time of one descent with its walks. A longer one means that the machine
         * paused.
         */
        private static final long LONGEST_MS = 200;
        private static final Random RANDOM = new Random(1);

        public static void main(String[] args) throws InterruptedException {
            boolean together = args[0].equals("together");
            Thread[] threads = new Thread[together ? THREADS : 1];
            for (int i = 0; i < threads.length; i++) {
                threads[i] = new Thread(null, together ? Program::same : Program::other, "deep-" + i,
                    together ? 8 << 20 : 1 << 28);
                threads[i].start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
        }

        private static void same() {
            long until = Burn.cpuNanos() + EACH_MS * 1_000_000;
            while (Burn.cpuNanos() < until) {
                Burn.sink += down(DEEP);
            }
        }

        private static long down(int left) {
            return left == 0 ? Burn.work(3_000_000) : 1 + down(left - 1);
        }

        private static void other() {
            FixedWork fixedWork = new FixedWork(ALONE_MS, LONGEST_MS);
            while (fixedWork.isOn()) {
                Burn.sink += one(DEEPER);
            }
            System.out.println("idle=" + fixedWork.idle());
        }

        private static long one(int left) {
            return left == 0 ? Burn.work(1_000_000) : 1 + (RANDOM.nextBoolean() ? one(left - 1) : two(left - 1));
        }

        private static long two(int left) {
            return left == 0 ? Burn.work(1_000_000) : 2 + (RANDOM.nextBoolean() ? one(left - 1) : two(left - 1));
        }
    }
}
