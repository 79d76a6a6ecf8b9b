import java.util.Random;

/**
 * Thirty-two threads that all do what {@link Mix} does with streams, reflection, method handles and
 * lambdas. Arguments: seconds.
 */
public final class Crowd {
    private static final int THREADS = 32;

    private Crowd() {}

    public static void main(String[] args) {
        Rounds.run(args[0], "everyday Java in " + THREADS + " threads", () -> Rounds.together(THREADS, number -> {
            Random random = new Random(number);
            Mix.streams(random.ints(5_000, 0, 500).toArray());
            Mix.reflection(500);
            handles();
            Mix.lambdas(random.ints(1_000).toArray());
        }));
    }

    private static void handles() throws Exception {
        try {
            Mix.handles(1_000);
        } catch (Exception | Error error) {
            throw error;
        } catch (Throwable other) {
            throw new AssertionError(other);
        }
    }
}
