import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

/**
 * Maps, strings, boxed numbers and the garbage of them, in two threads. Each count is checked
 * against plain arithmetic. Arguments: seconds.
 */
public final class Maps {
    private static final int KEYS = 5_000;
    private static final int ENTRIES = 60_000;

    private Maps() {}

    public static void main(String[] args) {
        Rounds.run(args[0], "maps and strings", () -> Rounds.together(2, number -> {
            Map<String, Integer> counts = new HashMap<>();
            Map<Integer, String> names = new TreeMap<>();
            for (int i = 0; i < ENTRIES; i++) {
                String name = "key-" + i % KEYS + ":" + number;
                counts.merge(name, 1, Integer::sum);
                names.put(i % KEYS, name);
            }
            StringBuilder all = new StringBuilder();
            long sum = 0;
            for (Map.Entry<Integer, String> entry : names.entrySet()) {
                all.append(entry.getValue()).append('=').append(counts.get(entry.getValue())).append(';');
                sum += counts.get(entry.getValue());
            }
            Rounds.same((long) ENTRIES, sum, "entries in all");
            String[] parts = all.toString().split(";");
            Rounds.same(KEYS, parts.length, "keys");
            Rounds.same("key-" + (KEYS - 1) + ":" + number + "=" + ENTRIES / KEYS, parts[KEYS - 1], "the last key");
        }));
    }
}
