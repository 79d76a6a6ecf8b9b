package dev.vouch;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The counts and times of one thread's tasks of a group. They are in the agent's memory: only this
 * thread writes them, and any thread reads them.
 */
final class Sums {
    static final long MILLISECOND = 1_000_000;
    /** How many limits there are for long tasks: powers of two, from 1 to 512 milliseconds. */
    static final int LIMITS = 10;

    // Indices of the sums. The agent has the same constants.
    static final int TASKS = 0;
    static final int WALL = 1;
    static final int CPU = 2;
    static final int ABANDONED = 3;
    /** The number of tasks without a CPU time. */
    static final int UNKNOWN = 4;
    /** The elapsed time of the tasks without a CPU time. */
    static final int UNKNOWN_WALL = 5;
    static final int LONG_WALL = 6;
    static final int LONG_CPU = LONG_WALL + LIMITS;

    private Sums() {}

    /** Sets the byte order of a buffer of the agent's; null stays null. */
    static ByteBuffer inOrder(ByteBuffer buffer) {
        return buffer == null ? null : buffer.order(ByteOrder.nativeOrder());
    }

    /** Adds a task. Only the thread that owns the sums may call this. */
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

    /** Counts a time at the highest limit that it reaches. */
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
