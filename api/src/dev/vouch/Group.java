package dev.vouch;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A named group of tasks, for example of one kind, one tenant or one plug-in. Vouch adds up the
 * group's CPU time, its blocked time and its number of long tasks.
 *
 * <pre>{@code
 * static final Group SAVES = Vouch.group("save");
 *
 * try (Task task = SAVES.enter()) {
 *     save(file);
 * }
 * }</pre>
 *
 * Groups are counted during a recording, and from the first {@linkplain Vouch#snapshot() snapshot}
 * on. Otherwise entering a group costs one branch. If a thread is already in the group, entering it
 * again has no effect, so nested tasks count once. No method here throws or blocks.
 */
public final class Group {
    /** How many groups there can be. The agent has the same limit. */
    private static final int MOST = 4096;
    private static final ConcurrentHashMap<String, Group> ALL = new ConcurrentHashMap<>();
    /** The group of all names beyond the limit. */
    private static final Group OTHERS = new Group("[others]");

    private final String name;
    /** The agent's number of the group; 0 before the first use. */
    private volatile int number;
    /** The watchers of the group's long tasks. */
    private volatile Jank[] watched = {};

    private Group(String name) {
        this.name = name;
    }

    static Group of(String name) {
        Group known = ALL.get(name);
        if (known != null) {
            return known;
        }
        String kept = Fields.text(name);
        if (ALL.size() >= MOST && !ALL.containsKey(kept)) {
            return OTHERS;
        }
        return ALL.computeIfAbsent(kept, Group::new);
    }

    /**
     * The group's name.
     *
     * @return the name
     */
    public String name() {
        return name;
    }

    /**
     * Begins a task of this group on the calling thread.
     *
     * @return the task; close it on the same thread
     */
    public Task enter() {
        return Agent.here && Wanted.groups() ? Task.begin(this) : Task.NONE;
    }

    int number() {
        int known = number;
        if (known == 0) {
            number = known = Agent.group(name);
        }
        return known;
    }

    /** Adds a finished task. A negative CPU time means that it is unknown. */
    void add(Object[] here, long ended, long tookWall, long tookCpu) {
        ByteBuffer sums = Here.sums(here, number);
        if (sums == null) {
            Agent.spend(number, tookWall, tookCpu);
        } else {
            Sums.add(sums, tookWall, tookCpu);
        }
        if (tookWall >= Sums.MILLISECOND) {
            Agent.tookLong(number, ended - tookWall, ended, tookCpu);
            for (Jank jank : watched) {
                jank.tell(tookWall);
            }
        }
    }

    synchronized void watch(Jank jank) {
        Jank[] more = Arrays.copyOf(watched, watched.length + 1);
        more[more.length - 1] = jank;
        watched = more;
    }

    synchronized void forget(Jank jank) {
        watched = Arrays.stream(watched).filter(one -> one != jank).toArray(Jank[]::new);
    }
}
