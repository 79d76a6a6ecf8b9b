package dev.vouch;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Tasks of one kind, of one tenant or of one plug-in, whose time is added up: on the processor,
 * waiting, and how often they took long.
 *
 * <pre>{@code
 * static final Group SAVES = Vouch.group("save");
 *
 * try (Task task = SAVES.enter()) {
 *     save(file);
 * }
 * }</pre>
 *
 * Groups are counted while a recording runs, and from when somebody first {@linkplain
 * Vouch#snapshot() asks}; otherwise to enter one costs a branch. A group that a thread has entered
 * already is not entered again: what is inside counts once. Nothing here throws, or waits for
 * anybody.
 */
public final class Group {
    /** So many are told apart, as the agent does. */
    private static final int MOST = 4096;
    private static final ConcurrentHashMap<String, Group> ALL = new ConcurrentHashMap<>();
    /** That of those that are too many. */
    private static final Group OTHERS = new Group("[others]");

    private final String name;
    /** The agent's number for it; 0 before it was asked. */
    private volatile int number;
    /** Who is told of its long tasks. */
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
     * How it is called.
     *
     * @return its name
     */
    public String name() {
        return name;
    }

    /**
     * A task of this group begins on the calling thread.
     *
     * @return what ends it, on the same thread
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

    /** A task has ended. If its CPU time is not known that is below nothing. */
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
