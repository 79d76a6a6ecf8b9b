/*
 * A program that repeats itself each millisecond of its CPU time, sampled each millisecond. With a
 * constant period each thread would be seen at the same points all the time: a method with 30 % of
 * the time would have nothing or everything. Perf events change their period now and then, so each
 * thread's methods have their own time.
 *
 * @test
 * @summary perf: a program in step with the interval is seen at all its points
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=200 InStep
 */

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Skip;
import dev.vouch.test.Track;
import dev.vouch.test.Vm;

public class InStep {
    public static void main(String[] args) {
        Run run = Vm.with("interval=1ms,engine=perf").flags("-Xmx128m").run(Program.class);
        Skip.ifEngineRefused(run);
        run.ok();
        for (int thread = 0; thread < Program.THREADS; thread++) {
            Track track = run.profile().track("step-" + thread);
            double first = track.weightOf("InStep$Program.first");
            double second = track.weightOf("InStep$Program.second");
            Check.atLeast(0.5 * Program.RUN_MS, first + second, "the trigger: ms of both methods");
            double own = Double.parseDouble(run.value("first-" + thread));
            System.out.printf("%.1f %% of %.0f ms, for a true %.1f %%%n", 100 * first / (first + second), first + second, own);
            Check.near(own, 100 * first / (first + second), 6, "percent of first in thread " + thread);
        }
    }

    static class Program {
        static final int THREADS = 4;
        static final long RUN_MS = 1_000;
        private static final long FIRST_NS = 300_000;
        private static final long ROUND_NS = 1_000_000;

        public static void main(String[] args) throws InterruptedException {
            for (int i = 0; i < THREADS; i++) {
                int number = i;
                Thread thread = new Thread(() -> step(number), "step-" + i);
                thread.start();
                thread.join();
            }
        }

        private static void step(int number) {
            long begin = Burn.cpuNanos();
            long first = 0;
            long all = 0;
            for (long round = begin; round < begin + RUN_MS * ROUND_NS; round += ROUND_NS) {
                long from = Burn.cpuNanos();
                first(round + FIRST_NS);
                long between = Burn.cpuNanos();
                second(round + ROUND_NS);
                first += between - from;
                all += Burn.cpuNanos() - from;
            }
            System.out.println("first-" + number + "=" + 100.0 * first / all);
        }

        private static void first(long until) {
            while (Burn.cpuNanos() < until) {
                Burn.sink += Burn.work(500);
            }
        }

        private static void second(long until) {
            while (Burn.cpuNanos() < until) {
                Burn.sink ^= Burn.work(500);
            }
        }
    }
}
