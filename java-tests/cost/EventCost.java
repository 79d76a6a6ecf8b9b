import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.management.ManagementFactory;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;

/**
 * Causes one kind of event, as often as it can, and does nothing else. Prints the process's CPU
 * time for each event, in nanoseconds, and the events in a second of CPU time.
 */
public final class EventCost {
    private static final int WARM_UP_SECONDS = 1;
    private static final int SECONDS = 2;
    private static final int DEPTH = 64;
    private static final Object MONITOR = new Object();
    private static volatile boolean over;
    private static volatile Thread[] pair;
    private static volatile int turn;
    private static Compilations compilations;
    private static long shared;
    public static volatile Object sink;

    private EventCost() {}

    public static void main(String[] args) throws Exception {
        LongSupplier count = start(args[0]);
        Thread.sleep(WARM_UP_SECONDS * 1_000L);
        long methods = compilations == null ? 0 : compilations.methods();
        long events = count.getAsLong();
        long cpu = cpuNanos();
        Thread.sleep(SECONDS * 1_000L);
        events = count.getAsLong() - events;
        cpu = cpuNanos() - cpu;
        over = true;
        if (compilations != null) {
            methods = compilations.methods() - methods;
            // A round has hundreds of methods and may be half done at both ends.
            if (Math.abs(events - methods) > methods / 10) {
                throw new IllegalStateException("the JVM compiled " + events + " methods, not " + methods);
            }
        }
        System.out.printf("ns=%.0f per_second=%.0f%n", (double) cpu / events, events * 1e9 / cpu);
        System.exit(0);
    }

    private static long cpuNanos() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }

    /** Starts the source of events, and returns a count of them. */
    private static LongSupplier start(String kind) throws Exception {
        long[] counts = new long[2];
        Work work;
        switch (kind) {
            case "monitor": work = EventCost::monitor; break;
            case "wait": work = EventCost::await; break;
            case "park": work = EventCost::park; break;
            case "alloc": work = at -> sink = new byte[1 << 10]; break;
            case "exception": work = at -> exception(DEPTH); break;
            case "gc": work = at -> System.gc(); break;
            case "class": work = new Classes(); break;
            case "jit":
                compilations = new Compilations();
                work = at -> compilations.round();
                break;
            case "deopt": work = new Deoptimised(); break;
            default: throw new IllegalArgumentException("no such kind of event: " + kind);
        }
        int threads = kind.equals("monitor") || kind.equals("wait") || kind.equals("park") ? 2 : 1;
        Thread[] all = new Thread[threads];
        CountDownLatch ready = new CountDownLatch(1);
        for (int i = 0; i < threads; i++) {
            int at = i;
            all[i] = new Thread(() -> {
                try {
                    ready.await();
                    while (!over) {
                        work.once(at);
                        counts[at]++;
                    }
                } catch (Exception e) {
                    e.printStackTrace();
                    System.exit(1);
                }
            }, kind + "-" + i);
            all[i].setDaemon(true);
        }
        pair = all;
        for (Thread thread : all) {
            thread.start();
        }
        ready.countDown();
        return compilations == null ? () -> counts[0] + counts[1] : compilations::count;
    }

    private interface Work {
        void once(int at) throws Exception;
    }

    /** Holds the monitor until the other thread waits for it, and lets it have the next turn. */
    private static void monitor(int at) {
        synchronized (MONITOR) {
            turn = at;
            while (pair[1 - at].getState() != Thread.State.BLOCKED && !over) {
                Thread.onSpinWait();
            }
        }
        while (turn == at && !over) {
            Thread.onSpinWait();
        }
    }

    /** Waits until the other thread has had its turn. */
    private static void await(int at) throws InterruptedException {
        synchronized (MONITOR) {
            turn = 1 - at;
            MONITOR.notifyAll();
            while (turn != at) {
                MONITOR.wait();
            }
        }
    }

    private static void park(int at) {
        turn = 1 - at;
        LockSupport.unpark(pair[1 - at]);
        while (turn != at) {
            LockSupport.park(MONITOR);
        }
    }

    private static void exception(int left) {
        if (left > 0) {
            exception(left - 1);
            return;
        }
        try {
            throw new IllegalStateException();
        } catch (IllegalStateException e) {
            sink = e;
        }
    }

    /** A class that is defined again and again. */
    public static class Template implements LongSupplier {
        @Override
        public long getAsLong() {
            return 1;
        }

        static byte[] bytes() throws IOException {
            try (InputStream in = EventCost.class.getResourceAsStream("EventCost$Template.class")) {
                return in.readAllBytes();
            }
        }

        static LongSupplier define(byte[] bytes) throws ReflectiveOperationException {
            Class<?> type = MethodHandles.lookup().defineHiddenClass(bytes, true).lookupClass();
            return (LongSupplier) type.getDeclaredConstructor().newInstance();
        }
    }

    private static final class Classes implements Work {
        private final byte[] bytes = Template.bytes();

        Classes() throws IOException {}

        @Override
        public void once(int at) throws ReflectiveOperationException {
            shared += Template.define(bytes).getAsLong();
        }
    }

    /** The loop is compiled for one class alone; another class then deoptimises it. */
    private static final class Deoptimised implements Work {
        private final byte[] bytes = Template.bytes();

        Deoptimised() throws IOException {}

        @Override
        public void once(int at) throws ReflectiveOperationException {
            LongSupplier supplier = Template.define(bytes);
            for (int i = 0; i < 200; i++) {
                shared += many(supplier);
            }
        }

        private static long many(LongSupplier supplier) {
            long sum = 0;
            for (int i = 0; i < 1_000; i++) {
                sum += supplier.getAsLong();
            }
            return sum;
        }
    }
}
