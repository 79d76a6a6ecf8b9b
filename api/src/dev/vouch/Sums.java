package dev.vouch;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * What a thread's tasks of a group have taken: numbers in the agent's memory, that this thread
 * alone writes and anybody reads.
 */
final class Sums {
    static final long MILLISECOND = 1_000_000;
    /**
     * Of how many milliseconds tasks are counted that took longer: powers of two, from 1 to 512.
     */
    static final int LIMITS = 10;

    // Which number is which. Both sides have agreed upon these.
    static final int TASKS = 0;
    static final int WALL = 1;
    static final int CPU = 2;
    static final int ABANDONED = 3;
    /** Of these tasks' CPU time nobody knows, */
    static final int UNKNOWN = 4;
    /** and they took so long. */
    static final int UNKNOWN_WALL = 5;
    static final int LONG_WALL = 6;
    static final int LONG_CPU = LONG_WALL + LIMITS;

    private Sums() {}

    /** Memory of the agent's; null for none. */
    static ByteBuffer inOrder(ByteBuffer buffer) {
        return buffer == null ? null : buffer.order(ByteOrder.nativeOrder());
    }

    /** One task more, of the thread whose they are. */
    static void add(ByteBuffer sums, long tookWall, long tookCpu) {
        add(sums, TASKS, 1);
        add(sums, WALL, tookWall);
        if (tookCpu < 0) {
            add(sums, UNKNOWN, 1);
            add(sums, UNKNOWN_WALL, tookWall);
        } else {
            add(sums, CPU, tookCpu);
            count(sums, LONG_CPU, tookCpu);
        }
        count(sums, LONG_WALL, tookWall);
    }

    /** Counts a time at the greatest limit that it is longer than. */
    private static void count(ByteBuffer sums, int limits, long took) {
        if (took >= MILLISECOND) {
            add(sums, limits + Math.min(LIMITS - 1, 63 - Long.numberOfLeadingZeros(took / MILLISECOND)), 1);
        }
    }

    private static void add(ByteBuffer sums, int which, long more) {
        int at = which * Long.BYTES;
        sums.putLong(at, sums.getLong(at) + more);
    }
}
