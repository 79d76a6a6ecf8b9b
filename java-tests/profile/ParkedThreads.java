/*
 * A virtual thread that has parked and continues has only its youngest frames on its carrier's
 * stack. The others are in the heap, and come back one by one as it returns. Its stack must still
 * be whole, must end where the thread began, and must have no frame of its carrier. That holds for
 * few and for many such threads, with any collector, compiled or not.
 *
 * @test
 * @summary the stack of a virtual thread that has parked is whole, and its own
 * @requires jdk.version.major >= 21
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=300 ParkedThreads
 */

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Method;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.Scale;
import dev.vouch.test.Track;
import dev.vouch.test.Vm;

public class ParkedThreads {
    private static final String DOWN = "ParkedThreads$Program.down";
    private static final String CARRIER = "ForkJoinPool-1-worker-";
    private static final String FEW = "8";
    /** Arithmetic steps of all threads together. */
    private static final String STEPS = "400000000";
    private static final String STEPS_OF_MANY = "500000000";
    private static final String INTERPRETED = "32000000";
    private static final String MANY = Integer.toString(Scale.pick(10_000, 100_000));

    public static void main(String[] args) {
        // AsyncGetCallTrace alone has almost none of these stacks; otherwise no frames were in the
        // heap, and this test shows nothing.
        Whole bare = whole("AsyncGetCallTrace", Vm.with("interval=1ms,walker=asgct"), FEW);
        Check.atMost(0.5 * bare.all, bare.whole, "of its stacks whole");
        // A thread may be between two stacks while the JVM fetches frames back. It happens more
        // often the more often it parks.
        whole("few", Vm.with("interval=1ms"), FEW).atLeast(0.98, "of a few threads' stacks whole");
        whole("many", Vm.with("interval=1ms"), MANY, STEPS_OF_MANY).atLeast(0.95, "of many threads' stacks whole");
        whole("interpreted", Vm.with("interval=1ms").flags("-Xint"), FEW, INTERPRETED).atLeast(0.98, "of interpreted threads' stacks whole");
        under(0.98, "-XX:+UseSerialGC");
        under(0.98, "-XX:+UseParallelGC");
        under(0.98, "-XX:-UseCompressedOops");
        under(0.98, "-XX:+UnlockExperimentalVMOptions", "-XX:+UseCompactObjectHeaders");
        // These collectors move frames that a running thread is about to read, and the new address
        // is not always known.
        under(0.9, "-XX:+UseShenandoahGC");
        under(0.9, "-XX:+UseZGC", "-XX:+ZGenerational");
        if (Vm.major() < 24) {
            under(0.9, "-XX:+UseZGC", "-XX:-ZGenerational");
        }
    }

    private static void under(double least, String... flags) {
        Vm vm = Vm.with("interval=1ms").flags("-XX:+IgnoreUnrecognizedVMOptions");
        for (String flag : flags) {
            vm = vm.flags(flag);
        }
        Run run = vm.run(Program.class, FEW, STEPS);
        if (run.exit == 1 && run.out.stream().anyMatch(line -> line.startsWith("Error occurred during initialization of VM"))) {
            System.out.println("not known here: " + String.join(" ", flags));
            return;
        }
        whole(String.join(" ", flags), run.ok()).atLeast(least, "of the stacks whole under " + String.join(" ", flags));
    }

    private static Whole whole(String what, Vm vm, String threads) {
        return whole(what, vm, threads, STEPS);
    }

    private static Whole whole(String what, Vm vm, String threads, String steps) {
        return whole(what, vm.flags("-Xmx1g").run(Program.class, threads, steps).ok());
    }

    /** The share of the threads' samples that have all of their frames, and no other. */
    private static Whole whole(String what, Run run) {
        Check.atLeast(100, run.number("parked"), "times that a virtual thread parked");
        Check.atLeast(1, run.number("collected"), "collections while there were virtual threads");
        long all = 0;
        long whole = 0;
        List<Track> carriers = run.profile().tracks.stream().filter(track -> track.name.startsWith(CARRIER)).collect(Collectors.toList());
        for (Sample sample : carriers.stream().flatMap(track -> track.samples.stream()).collect(Collectors.toList())) {
            // A sample without a stack may have been their work.
            if (!sample.leaf().category.equals("No stack") && !sample.has("dev.vouch.test.Burn.work")) {
                continue;
            }
            List<String> functions = sample.functions();
            boolean own = functions.stream().noneMatch(function -> function.startsWith("java.util.concurrent.ForkJoin")
                || function.equals("java.lang.VirtualThread.runContinuation"));
            boolean ends = sample.root().function.equals("jdk.internal.vm.Continuation.enter");
            all++;
            whole += own && ends && Collections.frequency(functions, DOWN) == Program.LEVELS + 1 && !sample.leaf().isRefuted() ? 1 : 0;
        }
        System.out.println(what + ": " + whole + " of " + all + " whole");
        Check.atLeast(200, all, "samples of the virtual threads' work: " + what);
        return new Whole(whole, all);
    }

    private static final class Whole {
        final long whole;
        final long all;

        Whole(long whole, long all) {
            this.whole = whole;
            this.all = all;
        }

        void atLeast(double share, String what) {
            Check.atLeast(Check.leastOf(all, share), whole, what);
        }
    }

    static class Program {
        static final int LEVELS = 8;
        private static final AtomicLong PARKED = new AtomicLong();
        private static volatile Object garbage;

        public static void main(String[] args) throws Exception {
            int threads = Integer.parseInt(args[0]);
            int bursts = Math.max(2, 200 / threads);
            int steps = Integer.parseInt(args[1]) / threads / bursts;
            Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
            CountDownLatch done = new CountDownLatch(threads);
            // Compiles the code before: a burst must be short compared with the time between two
            // collections.
            Burn.sink += Burn.work(steps) + Burn.work(100_000) + Burn.work(100_000);
            for (int n = 0; n < threads; n++) {
                boolean first = n == 0;
                start.invoke(null, (Runnable) () -> {
                    down(LEVELS, bursts, steps, first);
                    done.countDown();
                });
            }
            done.await();
            System.out.println("parked=" + PARKED);
            long collected = 0;
            for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
                collected += collector.getCollectionCount();
            }
            System.out.println("collected=" + collected);
        }

        private static void down(int left, int bursts, int steps, boolean first) {
            if (left > 0) {
                down(left - 1, bursts, steps, first);
                return;
            }
            for (int burst = 0; burst < bursts; burst++) {
                try {
                    Thread.sleep(1);
                } catch (InterruptedException error) {
                    throw new AssertionError(error);
                }
                PARKED.incrementAndGet();
                if (first && burst == bursts / 2) {
                    System.gc();
                }
                garbage = new byte[4_000];
                Burn.sink += Burn.work(steps);
            }
        }
    }
}
