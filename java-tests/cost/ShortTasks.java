import java.util.concurrent.Semaphore;

/**
 * Makes threads that work for some microseconds of CPU time each, eight at a time. Prints the
 * elapsed time for one thread of each round, in microseconds. The work is a number of turns, which
 * is the same in all JVMs: `java ShortTasks turns` prints how many take a microsecond.
 */
public final class ShortTasks {
    private static final int AT_ONCE = 8;
    private static final int WARM_UP = 2_000;
    private static final Semaphore BUDGET = new Semaphore(AT_ONCE);
    public static volatile long sink;

    private ShortTasks() {}

    public static void main(String[] args) throws Exception {
        if (args[0].equals("turns")) {
            System.out.println(turnsPerMicrosecond());
            return;
        }
        int turns = Integer.parseInt(args[0]);
        int threads = Integer.parseInt(args[1]);
        int rounds = Integer.parseInt(args[2]);
        run(WARM_UP, turns);
        for (int round = 0; round < rounds; round++) {
            long began = System.nanoTime();
            run(threads, turns);
            System.out.printf("us=%.1f%n", (System.nanoTime() - began) / 1e3 / threads);
        }
    }

    private static void run(int threads, int turns) throws InterruptedException {
        for (int i = 0; i < threads; i++) {
            BUDGET.acquire();
            new Thread(() -> {
                work(turns);
                BUDGET.release();
            }, "task").start();
        }
        BUDGET.acquire(AT_ONCE);
        BUDGET.release(AT_ONCE);
    }

    static void work(int turns) {
        long state = turns | 1;
        for (int i = 0; i < turns; i++) {
            // No compiler can merge several turns into one, as it can with products and sums.
            state ^= state << 13;
            state ^= state >>> 7;
            state ^= state << 17;
        }
        sink = state;
    }

    private static long turnsPerMicrosecond() {
        long best = Long.MAX_VALUE;
        int turns = 1_000_000;
        for (int i = 0; i < 200; i++) {
            long began = System.nanoTime();
            work(turns);
            best = Math.min(best, System.nanoTime() - began);
        }
        return Math.max(1, turns * 1_000L / best);
    }
}
