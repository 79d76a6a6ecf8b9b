package dev.vouch;

import java.util.Arrays;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;

/**
 * Watches a {@linkplain Group group} for tasks that take too long: so many of so many milliseconds
 * within so many seconds.
 *
 * <p>Whoever is told is told on a thread of Vouch's own, which all share, once in that time at most: no task waits for it. One who does
 * not come back keeps the others from being told.
 */
public final class Jank implements AutoCloseable {
    private static final BlockingQueue<Runnable> TOLD = new ArrayBlockingQueue<>(1024);
    private static final long IDLE_SECONDS = 1;
    /** It is there while anybody listens. */
    private static Thread teller;
    private static int listeners;

    private final Group group;
    private final long least;
    private final long within;
    private final LongConsumer listener;
    /** When the last of them were, in turns. */
    private final long[] times;
    private int next;
    private volatile boolean closed;
    private long quietUntil = System.nanoTime();

    private Jank(Group group, long least, int tasks, long within, LongConsumer listener) {
        this.group = group;
        this.least = least;
        this.within = within;
        this.listener = listener;
        times = new long[tasks];
        Arrays.fill(times, quietUntil - within - 1);
    }

    static Jank watch(Group group, int tasks, long millis, long seconds, LongConsumer listener) {
        Jank jank = new Jank(group, millis * Sums.MILLISECOND, tasks, seconds * 1_000 * Sums.MILLISECOND, listener);
        if (Agent.here && Wanted.canBe() && start()) {
            group.watch(jank);
            Agent.want();
        } else {
            jank.closed = true;
        }
        return jank;
    }

    /** False if there can be no thread more. */
    private static synchronized boolean start() {
        if (teller == null) {
            Thread thread = new Thread(Jank::run, "Vouch listeners");
            thread.setDaemon(true);
            // It must not keep the program of whoever came first.
            thread.setContextClassLoader(null);
            try {
                thread.start();
            } catch (OutOfMemoryError full) {
                return false;
            }
            teller = thread;
        }
        listeners++;
        return true;
    }

    /** True if nobody listens any more: then the next one starts another thread. */
    private static synchronized boolean ends() {
        if (listeners == 0) {
            teller = null;
        }
        return listeners == 0;
    }

    private static synchronized void leave() {
        listeners--;
    }

    private static void run() {
        do {
            try {
                Runnable told = TOLD.poll(IDLE_SECONDS, TimeUnit.SECONDS);
                if (told != null) {
                    told.run();
                }
            } catch (Throwable mistake) {
                // It is the listener's, or there is no memory left: others are to be told all the
                // same.
            }
        } while (!ends());
    }

    /** A task of its group has taken so long. */
    void tell(long took) {
        if (took < least) {
            return;
        }
        synchronized (this) {
            long now = System.nanoTime();
            times[next] = now;
            next = (next + 1) % times.length;
            // That one is the oldest of them.
            if (now - times[next] > within || now - quietUntil < 0) {
                return;
            }
            quietUntil = now + within;
        }
        // Where nobody has listened for so long one more that is not told is nothing.
        TOLD.offer(() -> {
            if (!closed) {
                listener.accept(took);
            }
        });
    }

    /** Nobody is told any more. */
    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            group.forget(this);
            leave();
        }
    }
}
