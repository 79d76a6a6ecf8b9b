/**
 * Recursion, 1,500 frames deep (or -Ddepth), in two threads. Two methods alternate, and the
 * innermost does the work, so most of the time is at the bottom. Arguments: seconds.
 */
public final class Deep {
    private static final int DEPTH = Integer.getInteger("depth", 1_500);
    /** The innermost work takes longer than the recursion down and back. */
    private static final int STEPS = Math.max(20_000, 13 * DEPTH);
    private static final int TIMES = 8_000_000 / STEPS;

    private Deep() {}

    public static void main(String[] args) {
        Rounds.run(args[0], "deep recursion", () -> Rounds.together(2, number -> {
            for (int i = 0; i < TIMES; i++) {
                Rounds.same(DEPTH + sum(i), odd(DEPTH, i), "the sum over " + DEPTH + " calls");
            }
        }));
    }

    private static long odd(int left, int seed) {
        return left == 0 ? sum(seed) : 1 + even(left - 1, seed);
    }

    private static long even(int left, int seed) {
        return left == 0 ? sum(seed) : 1 + odd(left - 1, seed);
    }

    private static long sum(int seed) {
        long sum = 0;
        for (int i = 0; i < STEPS; i++) {
            sum += (i ^ seed) % 7;
        }
        return sum;
    }
}
