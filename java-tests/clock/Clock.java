import java.util.concurrent.ThreadLocalRandom;

import jdk.jfr.Event;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/**
 * For `cargo xtask page jfr-clock`: keeps all processors busy. Now and then it emits a JFR event
 * that contains the time by System.nanoTime.
 *
 *   java Clock SECONDS
 */
public final class Clock {
    @Name("vouch.Clock")
    @StackTrace(false)
    static final class Told extends Event {
        /**
         * Times before and after the event begins: the thread may be preempted between the two
         * calls.
         */
        long before;
        long began;
        /** Times before and after the event ends. */
        long ending;
        long ended;
    }

    static volatile Object kept;

    private Clock() {}

    public static void main(String[] args) throws InterruptedException {
        long until = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
        Thread[] threads = new Thread[Runtime.getRuntime().availableProcessors()];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> work(until), "clock-" + i);
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private static void work(long until) {
        byte[][] alive = new byte[1_000][];
        long next = System.nanoTime();
        while (next < until) {
            Told told = new Told();
            told.before = System.nanoTime();
            told.begin();
            told.began = System.nanoTime();
            for (int i = 0; i < 100; i++) {
                alive[ThreadLocalRandom.current().nextInt(alive.length)] = new byte[10_000];
            }
            kept = alive;
            told.ending = System.nanoTime();
            told.end();
            told.ended = System.nanoTime();
            told.commit();
            next += 10_000_000;
            while (System.nanoTime() < next) {
                kept = new byte[100];
            }
        }
    }
}
