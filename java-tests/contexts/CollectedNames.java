/*
 * A hundred virtual threads allocate under three names while the collector runs. Each name has as
 * much work as the others. ZGC and Shenandoah move objects at any time, so a handler cannot read
 * the mounted thread's id or name in the heap. Each name has its own method, so the stack shows the
 * true name.
 *
 * @test
 * @summary virtual threads have their names under each collector
 * @requires jdk.version.major >= 21
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=300 CollectedNames
 */

import java.util.ArrayDeque;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.LockSupport;

import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.Vm;

public class CollectedNames {
    private static final String[] NAMES = {"red", "green", "blue"};
    private static final String[] COLLECTORS = {"-XX:+UseZGC", "-XX:+UseShenandoahGC", "-XX:+UseG1GC"};

    public static void main(String[] args) {
        for (String collector : COLLECTORS) {
            check(collector);
        }
        if (Vm.major() < 24) {
            check("-XX:+UseZGC", "-XX:+ZGenerational");
        }
    }

    private static void check(String... collector) {
        String what = " with " + String.join(" ", collector);
        Run run = Vm.with("interval=1ms").flags(collector).flags("-Xmx300m").run(Program.class).ok();
        long named = 0;
        long unknown = 0;
        long wrong = 0;
        long[] byStack = new long[NAMES.length];
        long[] byName = new long[NAMES.length];
        for (Sample sample : run.profile().samples()) {
            String name = sample.says("name");
            if (name != null && name.equals("[unknown]")) {
                unknown += sample.weight;
            } else if (name != null) {
                named += sample.weight;
            }
            for (int at = 0; at < NAMES.length; at++) {
                byName[at] += NAMES[at].equals(name) ? sample.weight : 0;
                if (sample.has("CollectedNames$Program." + NAMES[at])) {
                    byStack[at] += sample.weight;
                    wrong += name == null || name.equals("[unknown]") || name.equals(NAMES[at]) ? 0 : 1;
                }
            }
        }
        Check.equal(0L, wrong, "samples under another thread's name" + what);
        long all = named + unknown;
        Check.that(all > 1_000, "samples on virtual threads" + what + ": " + all);
        Check.atMost(Check.mostOf(all, 0.02), unknown, "samples of unknown name, of " + all + what);
        long stacks = byStack[0] + byStack[1] + byStack[2];
        for (int at = 0; at < NAMES.length; at++) {
            double truth = 100.0 * byStack[at] / stacks;
            Check.between(truth - 3, 100.0 * byName[at] / named, truth + 3, "% of " + NAMES[at] + what);
        }
    }

    static class Program {
        private static final int THREADS = 100;
        private static final int ROUNDS = 500;
        private static final AtomicLongArray SUMS = new AtomicLongArray(NAMES.length);

        public static void main(String[] args) throws Exception {
            // A large live set makes each collection take a while.
            byte[][] old = new byte[300][100_000];
            CountDownLatch done = new CountDownLatch(THREADS);
            for (int n = 0; n < THREADS; n++) {
                int name = n % NAMES.length;
                Thread.ofVirtual().name(NAMES[name]).start(() -> {
                    for (int round = 1; round <= ROUNDS; round++) {
                        switch (name) {
                            case 0: red(); break;
                            case 1: green(); break;
                            default: blue(); break;
                        }
                        if (round % 3 == 0) {
                            Thread.yield();
                        }
                        if (round % 50 == 0) {
                            LockSupport.parkNanos(100_000);
                        }
                    }
                    done.countDown();
                });
            }
            done.await();
            System.out.println("sum=" + (SUMS.get(0) + SUMS.get(1) + SUMS.get(2) + old.length));
        }

        private static void red() {
            SUMS.addAndGet(0, work());
        }

        private static void green() {
            SUMS.addAndGet(1, work());
        }

        private static void blue() {
            SUMS.addAndGet(2, work());
        }

        private static long work() {
            ArrayDeque<byte[]> kept = new ArrayDeque<>();
            long sum = 0;
            for (int piece = 0; piece < 400; piece++) {
                kept.add(new byte[2_000 + piece]);
                if (kept.size() > 20) {
                    sum += kept.poll().length;
                }
                sum += ("piece " + piece).hashCode();
            }
            return sum;
        }
    }
}
