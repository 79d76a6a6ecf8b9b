package dev.vouch;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The counts and times of all {@linkplain Group groups} at one moment.
 *
 * <p>Unfinished tasks are not included. If tasks end while the snapshot is taken, a count and a
 * time of a group can differ by one task.
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
            // The agent numbers groups from 1.
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
     * Subtracts an earlier snapshot.
     *
     * @param earlier the earlier snapshot
     * @return the difference, without groups that had no tasks in between
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
     * The time of the snapshot.
     *
     * @return the time of {@link System#nanoTime()}
     */
    public long nanos() {
        return nanos;
    }

    /**
     * The groups that had tasks, those with the most CPU time first.
     *
     * @return the counts and times of each group
     */
    public List<Spent> groups() {
        return groups;
    }

    /**
     * Finds a group by its name.
     *
     * @param name the group's name
     * @return the group's counts and times, or null if it had no tasks
     */
    public Spent group(String name) {
        return groups.stream().filter(spent -> spent.name().equals(name)).findFirst().orElse(null);
    }

    /**
     * Formats the snapshot as JSON.
     *
     * @return a JSON object with {@code nanos} and a list {@code groups}
     */
    public String toJson() {
        StringBuilder json = new StringBuilder("{\"nanos\": ").append(nanos).append(", \"groups\": [");
        for (int at = 0; at < groups.size(); at++) {
            json.append(at == 0 ? "" : ", ");
            groups.get(at).write(json);
        }
        return json.append("]}").toString();
    }

    /** Formats the snapshot as text, with a line for each group. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        for (Spent spent : groups) {
            text.append(spent).append(System.lineSeparator());
        }
        return text.toString();
    }
}
