/*
 * Threads that live for less than two milliseconds, and threads that sleep after each tenth of a
 * millisecond. Their two methods have the time that the program's own clock gives them. A kernel
 * tick sees little of such threads, so an engine that goes by ticks has no stack for most of it,
 * and says so.
 *
 * @test id=perf
 * @summary perf: methods of short-lived and of sleepy threads have their own time
 * @key lts
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=200 TimeInPlace perf 5 2
 */
/*
 * @test id=poll
 * @summary poll: methods of short-lived and of sleepy threads have their own time
 * @key newest lts
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=200 TimeInPlace poll 10 3
 */

import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Skip;
import dev.vouch.test.Vm;

public class TimeInPlace {
    private static final String ENDED = "[no stack: its thread ended, or left the recording, before the next sample]";

    public static void main(String[] args) {
        double percent = Double.parseDouble(args[1]);
        double points = Double.parseDouble(args[2]);
        for (String kind : new String[] {"short", "sleepy"}) {
            Run run = Vm.with("interval=1ms,engine=" + args[0]).flags("-Xmx128m").run(Program.class, kind);
            Skip.ifEngineRefused(run);
            run.ok();
            Check.equal(args[0], run.report().engine(), "engine");
            Check.atLeast(Program.THREADS, run.number("threads"), "the trigger: " + kind + " threads");
            double process = run.report().cpuMs() - run.report().agentCpuMs();
            // The time from a thread's last sample to its end has no stack, so no method has it.
            double ended = ended(run, "");
            Check.atMost(0.06 * process, ended, "ms of threads that ended before their next sample, " + kind);
            for (String method : new String[] {"first", "second"}) {
                double own = run.number(method + "_ns") / 1e6;
                double shown = run.profile().tracks.stream()
                    .mapToLong(track -> track.weightOf("TimeInPlace$Program." + method)).sum();
                // A busy machine takes more of it from one method than from the other.
                double lacking = ended(run, method);
                System.out.printf("%s %s %s: %.0f of %.0f ms, process %.0f ms, ended %.0f of %.0f ms%n", args[0], kind, method,
                    shown, own, process, lacking, ended);
                double limit = Math.max(percent * own, points * process) / 100;
                Check.between(own - limit - lacking, shown, own + limit, "ms of " + method + " in " + kind + " threads");
            }
        }
    }

    /** The time without a stack of threads of this name. */
    private static double ended(Run run, String name) {
        return run.profile().tracks.stream().filter(track -> track.name.startsWith(name)).mapToLong(track -> track.weightOf(ENDED)).sum();
    }

    static class Program {
        static final int THREADS = 80;
        private static final int AT_ONCE = 8;
        private static final long RUN_NS = 3_000_000_000L;
        private static final LongAdder FIRST = new LongAdder();
        private static final LongAdder SECOND = new LongAdder();

        public static void main(String[] args) throws InterruptedException {
            boolean isSleepy = args[0].equals("sleepy");
            long threads = 0;
            for (long end = System.nanoTime() + RUN_NS; System.nanoTime() < end;) {
                Thread[] some = new Thread[AT_ONCE];
                for (int i = 0; i < AT_ONCE; i++) {
                    boolean isFirst = i % 2 == 0;
                    some[i] = new Thread(() -> work(isFirst, isSleepy), isFirst ? "first" : "second");
                    some[i].start();
                }
                for (Thread thread : some) {
                    thread.join();
                }
                threads += AT_ONCE;
            }
            System.out.println("threads=" + threads);
            System.out.println("first_ns=" + FIRST.sum());
            System.out.println("second_ns=" + SECOND.sum());
        }

        private static void work(boolean isFirst, boolean isSleepy) {
            for (int slice = 0; slice < (isSleepy ? 20 : 1); slice++) {
                long from = Burn.cpuNanos();
                long until = from + (isSleepy ? 100_000 : 1_600_000);
                if (isFirst) {
                    first(until);
                } else {
                    second(until);
                }
                (isFirst ? FIRST : SECOND).add(Burn.cpuNanos() - from);
                if (isSleepy) {
                    LockSupport.parkNanos(300_000);
                }
            }
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
