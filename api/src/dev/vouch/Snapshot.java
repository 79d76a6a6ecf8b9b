package dev.vouch;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What all {@linkplain Group groups} had taken at a moment.
 *
 * <p>Tasks that had not ended by then are not in it. Groups whose tasks ended meanwhile may have one more of one figure than of another.
 */
public final class Snapshot {
    private final long nanos;
    private final List<Spent> groups;

    private Snapshot(long nanos, List<Spent> groups) {
        this.nanos = nanos;
        this.groups = Collections.unmodifiableList(groups);
    }

    static Snapshot take() {
        List<Spent> groups = new ArrayList<>();
        if (Agent.here && Wanted.canBe()) {
            Agent.want();
            // Numbers count from 1.
            String[] names = Agent.groups();
            for (int at = 0; names != null && at < names.length; at++) {
                long[] sums = Agent.spent(at + 1);
                Spent spent = sums == null ? null : new Spent(names[at], sums);
                if (spent != null && !spent.isNothing()) {
                    groups.add(spent);
                }
            }
        }
        return new Snapshot(System.nanoTime(), sorted(groups));
    }

    private static List<Spent> sorted(List<Spent> groups) {
        groups.sort(Comparator.comparingLong(Spent::cpuNanos).reversed().thenComparing(Spent::name));
        return groups;
    }

    /**
     * What was taken since an earlier one.
     *
     * @param earlier the other one
     * @return the difference; what there was nothing of is not in it
     */
    public Snapshot since(Snapshot earlier) {
        Map<String, Spent> before = new HashMap<>();
        for (Spent spent : earlier.groups) {
            before.put(spent.name(), spent);
        }
        List<Spent> since = new ArrayList<>();
        for (Spent spent : groups) {
            Spent then = before.get(spent.name());
            Spent less = then == null ? spent : spent.since(then);
            if (!less.isNothing()) {
                since.add(less);
            }
        }
        return new Snapshot(nanos, sorted(since));
    }

    /**
     * When it was taken.
     *
     * @return the time, of {@link System#nanoTime()}
     */
    public long nanos() {
        return nanos;
    }

    /**
     * Groups that had tasks, those with the most CPU time first.
     *
     * @return what each has taken
     */
    public List<Spent> groups() {
        return groups;
    }

    /**
     * A group by its name.
     *
     * @param name how it is called
     * @return what it has taken, or null if it had no tasks
     */
    public Spent group(String name) {
        return groups.stream().filter(spent -> spent.name().equals(name)).findFirst().orElse(null);
    }

    /**
     * For machines.
     *
     * @return a JSON object: {@code nanos}, and {@code groups} with a list of them
     */
    public String toJson() {
        StringBuilder json = new StringBuilder("{\"nanos\": ").append(nanos).append(", \"groups\": [");
        for (int at = 0; at < groups.size(); at++) {
            json.append(at == 0 ? "" : ", ");
            groups.get(at).write(json);
        }
        return json.append("]}").toString();
    }

    /** For people: a line for each group. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        for (Spent spent : groups) {
            text.append(spent).append(System.lineSeparator());
        }
        return text.toString();
    }
}
