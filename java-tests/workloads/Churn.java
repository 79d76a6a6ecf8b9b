import java.lang.instrument.Instrumentation;
import java.lang.reflect.Method;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Disturbs another program (-javaagent) with threads that start and end all the time. Virtual
 * threads, if the JDK has any, park in the midst of their work. Some garbage lives for a while, so
 * that every collector has all kinds of work.
 *
 * At the end it prints how much of each there was. It must never take more than a share of the
 * machine.
 */
public final class Churn {
    private static final int BRIEF = 10;
    private static final int VIRTUAL = 50;
    private static final int KEPT = 2_000;
    private static final int DEEPEST = 200;

    private static final AtomicLong THREADS = new AtomicLong();
    private static final AtomicLong PARKS = new AtomicLong();
    private static final AtomicLong BYTES = new AtomicLong();
    private static final Object[] KEEP = new Object[KEPT];
    private static volatile long sink;

    private Churn() {}

    public static void premain(String arguments, Instrumentation jvm) {
        daemon("churn", Churn::threads);
        daemon("garbage", Churn::garbage);
        Runtime.getRuntime().addShutdownHook(new Thread(() ->
            System.err.printf("churn: %d threads, %d parks of virtual threads, %d MB%n", THREADS.get(), PARKS.get(), BYTES.get() >> 20)));
    }

    private static void daemon(String name, Runnable work) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        thread.start();
    }

    private static void threads() {
        Method start = null;
        try {
            start = Thread.class.getMethod("startVirtualThread", Runnable.class);
            for (int n = 0; n < VIRTUAL; n++) {
                start.invoke(null, (Runnable) Churn::parking);
            }
        } catch (ReflectiveOperationException none) {
            start = null;
        }
        while (true) {
            for (int n = 0; n < BRIEF; n++) {
                daemon("brief-" + n, () -> down(DEEPEST));
                THREADS.incrementAndGet();
                if (start != null) {
                    try {
                        start.invoke(null, (Runnable) () -> down(DEEPEST));
                    } catch (ReflectiveOperationException impossible) {
                        throw new AssertionError(impossible);
                    }
                }
            }
            LockSupport.parkNanos(20_000_000);
        }
    }

    private static void parking() {
        Random random = new Random(1);
        while (true) {
            parkDown(random.nextInt(30), random);
        }
    }

    private static int parkDown(int depth, Random random) {
        if (depth == 0) {
            LockSupport.parkNanos(2_000_000 + random.nextInt(20_000_000));
            PARKS.incrementAndGet();
            return burn(2_000);
        }
        return parkDown(depth - 1, random) + 1;
    }

    private static int down(int depth) {
        return depth == 0 ? burn(20_000) : down(depth - 1) + 1;
    }

    private static int burn(int steps) {
        long value = steps;
        for (int i = 0; i < steps; i++) {
            value = value * 31 + (value >>> 7 ^ i);
        }
        sink = value;
        return (int) value & 1;
    }

    private static void garbage() {
        Random random = new Random(2);
        for (int round = 0; ; round++) {
            for (int n = 0; n < 200; n++) {
                byte[] bytes = new byte[random.nextInt(1 << 14)];
                KEEP[random.nextInt(KEPT)] = bytes;
                BYTES.addAndGet(bytes.length);
            }
            if (round % 500 == 499) {
                System.gc();
            }
            LockSupport.parkNanos(4_000_000);
        }
    }
}
