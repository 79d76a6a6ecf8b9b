import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Common to all workloads: repeats a round of work until the time is over, and checks each result.
 *
 * The JVM exits with 0 if every round was right, and with 1 at the first that was not. It prints
 * one line. This must never cut a round short, nor count one without a checked result.
 */
final class Rounds {
    interface Round {
        void once() throws Throwable;
    }

    interface Part {
        void run(int number) throws Exception;
    }

    interface Watcher {
        boolean roundEnded() throws Exception;
    }

    /** If set, this decides instead of the time whether another round follows. */
    static Watcher goesOn;

    /** How many characters of a failure are shown. */
    private static final int MOST = 400;

    private Rounds() {}

    /** Repeats the round for this many seconds, at least once, and ends the JVM. */
    static void run(String seconds, String what, Round round) {
        long start = System.nanoTime();
        long time = (long) (Double.parseDouble(seconds) * 1e9);
        int rounds = 0;
        try {
            do {
                round.once();
                rounds++;
            } while (goesOn == null ? System.nanoTime() - start < time : goesOn.roundEnded());
        } catch (Throwable error) {
            StackTraceElement[] stack = error.getStackTrace();
            String line = error + (stack.length == 0 ? "" : " at " + stack[0]);
            line = line.replaceAll("\\s+", " ");
            System.out.println("failed in round " + (rounds + 1) + ": " + line.substring(0, Math.min(line.length(), MOST)));
            System.exit(1);
        }
        double took = (System.nanoTime() - start) / 1e9;
        System.out.printf(Locale.ROOT, "%,d %s of %s in %.1f s%n", rounds, rounds == 1 ? "round" : "rounds", what, took);
        System.exit(0);
    }

    /** Runs the part on this many threads at once, and rethrows the first exception. */
    static void together(int threads, Part part) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try {
            List<Future<?>> parts = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                int number = i;
                parts.add(pool.submit(() -> {
                    part.run(number);
                    return null;
                }));
            }
            for (Future<?> each : parts) {
                each.get();
            }
        } finally {
            pool.shutdownNow();
        }
    }

    static void check(boolean holds, String what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }

    static void same(Object expected, Object actual, String what) {
        check(expected.equals(actual), what + ": expected <" + expected + ">, came <" + actual + ">");
    }
}
