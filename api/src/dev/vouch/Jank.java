package dev.vouch;

import java.util.Arrays;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;

/**
 * Watches a {@linkplain Group group} for long tasks. It calls a listener when a number of tasks
 * took too long within a number of seconds.
 *
 * <p>All listeners run on one thread of Vouch's, so no task waits for them. Each is called at most
 * once per period. A listener that does not return blocks the others.
 */
public final class Jank implements AutoCloseable {
    private static final BlockingQueue<Runnable> TOLD = new ArrayBlockingQueue<>(1024);
    private static final long IDLE_SECONDS = 1;
    /** The thread that calls listeners; null without listeners. */
    private static Thread teller;
    private static int listeners;

    private final Group group;
    private final long least;
    private final long within;
    private final LongConsumer listener;
    /** The times of the last long tasks, as a ring buffer. */
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

    /** Starts the thread if necessary; false if no thread can be created. */
    private static synchronized boolean start() {
        if (teller == null) {
            Thread thread = new Thread(Jank::run, "Vouch listeners");
            thread.setDaemon(true);
            // The thread must not keep the class loader of the program that came first.
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

    /** True if there are no listeners any more. The next listener starts another thread. */
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
                // The listener failed, or memory ran out. Other listeners must still be called.
            }
        } while (!ends());
    }

    /** Counts a task of the group, and calls the listener if there were enough long ones. */
    void tell(long took) {
        if (took < least) {
            return;
        }
        synchronized (this) {
            long now = System.nanoTime();
            times[next] = now;
            next = (next + 1) % times.length;
            // The next element is the oldest.
            if (now - times[next] > within || now - quietUntil < 0) {
                return;
            }
            quietUntil = now + within;
        }
        // The queue is full only if listeners have not returned for long. The call is dropped then.
        TOLD.offer(() -> {
            if (!closed) {
                listener.accept(took);
            }
        });
    }

    /** Stops watching: the listener is not called any more. */
    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            group.forget(this);
            leave();
        }
    }
}
