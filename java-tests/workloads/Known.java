import java.io.IOException;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntUnaryOperator;
import java.util.zip.Deflater;

/**
 * Ten kinds of work. Some profiler shows less or more of each than there is. The program measures
 * the CPU time that the kernel charged for each kind. Each kind is a method of the same name, with
 * the same result every time.
 *
 * At the end it writes a line for each kind into the file that -Dvouch.known names: name and
 * milliseconds. Arguments: seconds.
 */
public final class Known {
    private interface Work {
        long once();
    }

    /**
     * One turn takes up to some milliseconds on a current machine; a turn of `cadence` takes a
     * third of one.
     */
    private enum Kind {
        loops(Known::loops), calls(Known::calls), deflating(Known::deflating), copies(Known::copies), objects(Known::objects),
        deep(() -> Known.deep(300)), clocks(Known::clocks), throwing(Known::throwing),
        // Each of these runs on a separate thread.
        cadence(Known::cadence), brief(Known::brief);

        private final Work work;
        private final AtomicLong took = new AtomicLong();
        /** The result of the first turn. */
        private volatile Long result;

        Kind(Work work) {
            this.work = work;
        }

        void charged() {
            long before = THREADS.getCurrentThreadCpuTime();
            long got = work.once();
            took.addAndGet(THREADS.getCurrentThreadCpuTime() - before);
            if (result == null) {
                result = got;
            }
            Rounds.same(result, got, "result of " + this);
        }
    }

    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final int[] NUMBERS = new Random(2).ints(1 << 20).toArray();
    private static final byte[] BYTES = new byte[1 << 20];
    private static final byte[] COPY = new byte[1 << 20];
    private static final IntUnaryOperator[] STEPS = {n -> n + 1, n -> n ^ 3, n -> n * 5, n -> n - 7, n -> n | 1};
    private static final int IN_TURNS = Kind.cadence.ordinal();
    private static volatile boolean over;
    private static volatile Throwable failed;

    private Known() {}

    public static void main(String[] args) {
        Random random = new Random(1);
        random.nextBytes(BYTES);
        Runtime.getRuntime().addShutdownHook(new Thread(Known::write, "what it took"));
        start("cadence", () -> {
            while (!over) {
                Kind.cadence.charged();
                pause();
            }
        });
        Rounds.run(args[0], "known work", () -> {
            for (int turn = 0; turn < 40; turn++) {
                // The order is random, so that no sampler can be in step with it.
                Kind.values()[random.nextInt(IN_TURNS)].charged();
            }
            start("brief", Kind.brief::charged).join();
            if (failed != null) {
                throw failed;
            }
        });
    }

    private static Thread start(String name, Runnable work) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        thread.setUncaughtExceptionHandler((which, error) -> failed = error);
        thread.start();
        return thread;
    }

    private static void write() {
        over = true;
        String file = System.getProperty("vouch.known");
        if (file == null) {
            return;
        }
        try (PrintWriter out = new PrintWriter(file, "UTF-8")) {
            for (Kind kind : Kind.values()) {
                out.println(kind + " " + kind.took.get() / 1_000_000);
            }
        } catch (IOException error) {
            System.err.println(error);
        }
    }

    private static void pause() {
        try {
            Thread.sleep(2);
        } catch (InterruptedException nobodyDoes) {
            throw new AssertionError(nobodyDoes);
        }
    }

    private static long loops() {
        int sum = 0;
        for (int times = 0; times < 8; times++) {
            for (int at = 0; at < NUMBERS.length; at++) {
                sum = (sum + NUMBERS[at]) * 31;
            }
        }
        return sum;
    }

    /** Many calls of very short methods. */
    private static long calls() {
        int number = 0;
        for (int at = 0; at < 400_000; at++) {
            number = STEPS[at % STEPS.length].applyAsInt(number);
        }
        return number;
    }

    /** A single call of native code. */
    private static long deflating() {
        Deflater deflater = new Deflater();
        deflater.setInput(BYTES, 0, 1 << 16);
        deflater.finish();
        long length = deflater.deflate(new byte[1 << 17]);
        deflater.end();
        return length;
    }

    /** Code that the JVM generates by hand, as a stub. */
    private static long copies() {
        for (int times = 0; times < 20; times++) {
            System.arraycopy(BYTES, times, COPY, 0, BYTES.length - times);
        }
        return COPY[7];
    }

    private static long objects() {
        int[][] all = new int[1_000][];
        for (int at = 0; at < 200_000; at++) {
            all[at % all.length] = new int[] {at};
        }
        return all[7][0];
    }

    private static long deep(int left) {
        if (left > 0) {
            return deep(left - 1);
        }
        int sum = 0;
        for (int at = 0; at < NUMBERS.length; at++) {
            sum = (sum ^ NUMBERS[at]) * 31;
        }
        return sum;
    }

    /** Calls the vDSO, which the kernel maps into the process. */
    private static long clocks() {
        long first = System.nanoTime();
        long last = first;
        for (int times = 0; times < 40_000; times++) {
            last = System.nanoTime();
        }
        return Long.signum(last - first);
    }

    private static long throwing() {
        int caught = 0;
        for (int times = 0; times < 1_000; times++) {
            try {
                thrown(20);
            } catch (IllegalStateException error) {
                caught++;
            }
        }
        return caught;
    }

    private static void thrown(int left) {
        if (left == 0) {
            throw new IllegalStateException("as it is to be");
        }
        thrown(left - 1);
    }

    /** A third of a millisecond of work, followed by a rest of two. */
    private static long cadence() {
        int sum = 0;
        for (int at = 0; at < 300_000; at++) {
            sum = (sum + NUMBERS[at]) * 31;
        }
        return sum;
    }

    /** The whole work of a short-lived thread. */
    private static long brief() {
        int sum = 0;
        for (int times = 0; times < 3; times++) {
            for (int at = 0; at < NUMBERS.length; at++) {
                sum = (sum + NUMBERS[at]) * 31;
            }
        }
        return sum;
    }
}
