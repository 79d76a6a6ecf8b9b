/*
 * A program measures for how long its threads are blocked on each class of locks. Some waits are
 * long, and all of them are recorded. Of thousands of short ones only a part is, which has to stand
 * for all. Threads that park for another reason are not blocked on a lock.
 *
 * @test
 * @summary time blocked on monitors and locks is within 5 % in top, flame, folded, pprof and html
 * @key newest lts waits
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=240 BlockedTime
 */

import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import com.google.gson.JsonObject;

import dev.vouch.test.Check;
import dev.vouch.test.MeasureViews;
import dev.vouch.test.Run;
import dev.vouch.test.Vm;

public class BlockedTime {
    private static final double NEAR = 0.05;
    private static final int HANDED_OVER = 120;
    private static final long BUSY_NS = 12_000_000_000L;
    private static final String LOCK = "java.util.concurrent.locks.ReentrantLock$NonfairSync";
    private static final String SEMAPHORE = "java.util.concurrent.Semaphore$NonfairSync";

    public static void main(String[] args) throws Exception {
        Run run = Vm.with("events=lock,measure=lock,out=a.folded,out=a.html,out=a.pb.gz").run(Program.class).ok();
        MeasureViews views = new MeasureViews(run, "lock", "ms", 1e6);
        String[] leaves = {"BlockedTime$Till", LOCK, SEMAPHORE, "BlockedTime$Front", "BlockedTime$Back"};
        for (String leaf : leaves) {
            views.check(leaf, printed(run, "blocked ns", leaf), NEAR);
        }
        for (String file : new String[] {"profile.json", "a.pb.gz"}) {
            Check.near(HANDED_OVER, views.top(file, "lock-count", "events", 1).get("BlockedTime$Till"), NEAR * HANDED_OVER, "waits for the till in " + file);
        }
        Check.that(views.top("profile.json", "lock").keySet().stream().noneMatch(leaf -> leaf.contains("Condition") || leaf.contains("Latch")),
            "a queue and a latch are no locks");
        JsonObject exact = run.report().json.getAsJsonObject("exact_totals").getAsJsonObject("lock");
        JsonObject sampled = run.report().json.getAsJsonObject("measures").getAsJsonObject("lock");
        Check.equal(exact.get("unit"), sampled.get("unit"), "the unit");
        double amount = exact.get("amount").getAsDouble();
        Check.near(amount, sampled.get("amount").getAsDouble(), 0.02 * amount, "the samples' amount, beside the exact one");
        double events = exact.get("events").getAsDouble();
        Check.near(events, sampled.get("events").getAsDouble(), NEAR * events, "the events that the samples stand for, beside all");
        Check.that(sampled.get("samples").getAsLong() < 0.7 * exact.get("events").getAsLong(), "a part of the waits is recorded: " + sampled + " of " + exact);
    }

    private static double printed(Run run, String what, String leaf) {
        Matcher matcher = Pattern.compile(Pattern.quote(what + " " + leaf) + " ([0-9]+)").matcher(String.join("\n", run.out));
        Check.that(matcher.find(), what + " " + leaf + " is missing in " + run.out);
        return Double.parseDouble(matcher.group(1));
    }

    static class Till {
    }

    static class Front {
    }

    static class Back {
    }

    interface Waiting {
        /** Waits for a lock, and returns the time at which it had it. */
        long lock() throws InterruptedException;
    }

    static class Program {
        public static void main(String[] args) throws Exception {
            Till till = new Till();
            ReentrantLock lock = new ReentrantLock();
            Semaphore semaphore = new Semaphore(0);
            AtomicLong[] sums = {new AtomicLong(), new AtomicLong(), new AtomicLong(), new AtomicLong(), new AtomicLong()};
            Thread queue = new Thread(() -> {
                try {
                    new ArrayBlockingQueue<Object>(1).take();
                } catch (InterruptedException stopped) {
                    // The program's end.
                }
            });
            CountDownLatch latch = new CountDownLatch(1);
            Thread latched = new Thread(() -> {
                try {
                    latch.await();
                } catch (InterruptedException stopped) {
                    // The program's end.
                }
            });
            queue.start();
            latched.start();
            for (int i = 0; i < HANDED_OVER; i++) {
                Thread waiter;
                synchronized (till) {
                    waiter = waiter(sums[0], () -> {
                        synchronized (till) {
                            return System.nanoTime();
                        }
                    }, Thread.State.BLOCKED);
                }
                waiter.join();
                lock.lock();
                waiter = waiter(sums[1], () -> {
                    lock.lock();
                    long now = System.nanoTime();
                    lock.unlock();
                    return now;
                }, Thread.State.WAITING);
                lock.unlock();
                waiter.join();
                waiter = waiter(sums[2], () -> {
                    semaphore.acquire();
                    return System.nanoTime();
                }, Thread.State.WAITING);
                semaphore.release();
                waiter.join();
            }
            Thread[] busy = new Thread[6];
            Object[] locks = {new Front(), new Back()};
            long until = System.nanoTime() + BUSY_NS;
            for (int i = 0; i < busy.length; i++) {
                Object wanted = locks[i % 2];
                AtomicLong sum = sums[3 + i % 2];
                busy[i] = new Thread(() -> contend(wanted, sum, until));
                busy[i].start();
            }
            for (Thread thread : busy) {
                thread.join();
            }
            latch.countDown();
            queue.interrupt();
            queue.join();
            latched.join();
            String[] leaves = {"BlockedTime$Till", LOCK, SEMAPHORE, "BlockedTime$Front", "BlockedTime$Back"};
            for (int i = 0; i < leaves.length; i++) {
                System.out.println("blocked ns " + leaves[i] + " " + sums[i]);
            }
        }

        /** Starts a thread that waits for what the calling thread holds, and lets it wait. */
        private static Thread waiter(AtomicLong sum, Waiting waiting, Thread.State state) throws InterruptedException {
            Thread thread = new Thread(() -> {
                long since = System.nanoTime();
                try {
                    sum.addAndGet(waiting.lock() - since);
                } catch (InterruptedException unexpected) {
                    throw new IllegalStateException(unexpected);
                }
            });
            thread.start();
            while (thread.getState() != state) {
                Thread.sleep(1);
            }
            Thread.sleep(10);
            return thread;
        }

        private static void contend(Object lock, AtomicLong sum, long until) {
            while (System.nanoTime() < until) {
                long since = System.nanoTime();
                synchronized (lock) {
                    sum.addAndGet(System.nanoTime() - since);
                    sleep();
                }
                sleep();
            }
        }

        private static void sleep() {
            try {
                Thread.sleep(1);
            } catch (InterruptedException unexpected) {
                throw new IllegalStateException(unexpected);
            }
        }
    }
}
