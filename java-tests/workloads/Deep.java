/**
 * Recursion, 1,500 frames deep, in two threads: two methods by turns, of which the innermost does the work. Arguments: seconds.
 */
public final class Deep {
    private static final int DEPTH = 1_500;
    private static final int TIMES = 400;

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
        for (int i = 0; i < 20_000; i++) {
            sum += (i ^ seed) % 7;
        }
        return sum;
    }
}
