import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;

/**
 * Work of a fixed amount. One method can be made slower by a known part: `cargo xtask page diff`
 * plants regressions with it. The method `planted` takes about a third of the time.
 *
 * Arguments: rounds of some 4 ms, and by how many percent more steps `planted` takes.
 */
public final class Planted {
    private static final int STEPS = 2_000_000;
    private static final int[] NUMBERS = new Random(3).ints(60_000).toArray();
    private static final String[] WORDS = new Random(4).ints(20_000, 0, 4_000).mapToObj(n -> "word " + n).toArray(String[]::new);

    private Planted() {}

    public static void main(String[] args) {
        int rounds = Integer.parseInt(args[0]);
        int steps = STEPS / 100 * (100 + Integer.parseInt(args[1]));
        long expected = planted(steps);
        int[] done = {0};
        Rounds.goesOn = () -> ++done[0] < rounds;
        Rounds.run("0", "planted work", () -> {
            Rounds.same(expected, planted(steps), "planted");
            Rounds.same(NUMBERS.length, sorted().length, "sorted");
            Rounds.same(WORDS.length, counted().values().stream().mapToInt(n -> n).sum(), "counted");
            Rounds.check(joined().length() > WORDS.length, "joined");
        });
    }

    /** Each step takes equally long, whatever the compiler generates. */
    private static long planted(int steps) {
        long value = 1;
        for (int step = 0; step < steps; step++) {
            value = value * 31 + (value >>> 7 ^ step);
        }
        return value;
    }

    private static int[] sorted() {
        int[] copy = NUMBERS.clone();
        Arrays.sort(copy);
        return copy;
    }

    private static Map<String, Integer> counted() {
        Map<String, Integer> counts = new HashMap<>();
        for (String word : WORDS) {
            counts.merge(word, 1, Integer::sum);
        }
        return counts;
    }

    private static StringBuilder joined() {
        StringBuilder text = new StringBuilder();
        for (int at = 0; at < WORDS.length; at++) {
            text.append(WORDS[at].toLowerCase(java.util.Locale.ROOT)).append(' ').append(NUMBERS[at]);
        }
        return text;
    }
}
