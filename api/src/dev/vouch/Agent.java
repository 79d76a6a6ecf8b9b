package dev.vouch;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Native methods of libvouch.so, and the cell of each thread.
 *
 * A cell is a small buffer that a thread writes and its signal handler reads. It contains the
 * number of the thread's context, and the thread's trace.
 */
final class Agent {
    /** The version of the protocol with the agent. The agent has the same constant. */
    private static final int PROTOCOL = 2;

    /** The size of the cell of a platform thread, in bytes. */
    private static final int OWN = 32;

    // Offsets in a cell: the context's number, the depth of the trace, and the innermost trace's
    // ids.
    private static final int CONTEXT = 0;
    private static final int DEPTH = 4;
    private static final int HIGH = 8;
    private static final int LOW = 16;
    private static final int SPAN = 24;

    /** True once the agent is loaded. An agent that is attached later sets it. */
    static volatile boolean here;

    static {
        if (find()) {
            here = true;
        }
    }

    /**
     * The cell of each thread. A virtual thread has a cell only while it is in a context or a
     * trace.
     */
    static final ThreadLocal<ByteBuffer> CELLS = ThreadLocal.withInitial(Agent::findCell);

    private Agent() {}

    private static boolean find() {
        try {
            return protocol() == PROTOCOL;
        } catch (UnsatisfiedLinkError absent) {
            return false;
        }
    }

    private static ByteBuffer findCell() {
        Thread self = Thread.currentThread();
        if (Kind.isVirtual(self)) {
            return Virtuals.cell(self);
        }
        ByteBuffer cell = cell();
        return (cell == null ? ByteBuffer.allocate(Virtuals.UNSEEN) : cell).order(ByteOrder.nativeOrder());
    }

    /** Returns the context in the cell of the calling thread; 0 if there is no context. */
    static int context(ByteBuffer cell) {
        return cell.getInt(CONTEXT);
    }

    /** Returns how deep the calling thread is in traces, then the innermost trace's ids. */
    static long[] trace(ByteBuffer cell) {
        return new long[] {cell.getInt(DEPTH), cell.getLong(HIGH), cell.getLong(LOW), cell.getLong(SPAN)};
    }

    /**
     * Sets the context of the calling thread, which must own the cell. 0 means no context; after
     * that the caller must not use the cell again.
     */
    static void go(ByteBuffer cell, int context) {
        cell.putInt(CONTEXT, context);
        // A JIT compiler may move this plain write past a loop that does not touch memory. The
        // profiler would then show the loop in the old context. A volatile read prevents the move.
        @SuppressWarnings("unused")
        boolean fence = here;
        settle(cell);
    }

    /**
     * Sets the calling thread's innermost trace and how deep it is. The thread must own the cell.
     * With depth 0 the caller must not use the cell again.
     */
    static void go(ByteBuffer cell, int depth, long high, long low, long span) {
        // Depth 0 hides ids that are half written. The volatile reads keep the writes in this
        // order.
        cell.putInt(DEPTH, 0);
        @SuppressWarnings("unused")
        boolean begun = here;
        cell.putLong(HIGH, high);
        cell.putLong(LOW, low);
        cell.putLong(SPAN, span);
        @SuppressWarnings("unused")
        boolean written = here;
        cell.putInt(DEPTH, depth);
        @SuppressWarnings("unused")
        boolean fence = here;
        settle(cell);
    }

    /** Returns the cell of a virtual thread that has no context and no trace any more. */
    private static void settle(ByteBuffer cell) {
        if (cell.capacity() != OWN && cell.getInt(CONTEXT) == 0 && cell.getInt(DEPTH) == 0) {
            Virtuals.giveBack(cell);
        }
    }

    /** Returns the context of the calling thread; 0 if it has none. */
    static int now() {
        ByteBuffer cell = CELLS.get();
        int context = context(cell);
        settle(cell);
        return context;
    }

    /** Sets the context of the calling thread. */
    static void go(int context) {
        go(CELLS.get(), context);
    }

    /** Sets the context of the calling thread while it runs a wrapped task. */
    static void carry(int context) {
        ByteBuffer cell = CELLS.get();
        go(cell, context);
        if (context != 0) {
            countUnseen(cell);
        }
    }

    /**
     * Counts a context or a trace as lost if no signal handler can find the calling thread's
     * buffer.
     */
    static void countUnseen(ByteBuffer cell) {
        if (cell.capacity() == Virtuals.UNSEEN) {
            lost();
        }
    }

    static native int protocol();

    /** Returns the cell of the calling thread; null if it cannot have one. */
    private static native ByteBuffer cell();

    /** Returns the table of cells of virtual threads; null if the agent has no table. */
    static native ByteBuffer virtuals();

    /**
     * Reserves a cell for the calling virtual thread and returns its offset in the table. Returns
     * -1 if the table is full, or if this JVM does not publish the thread's id.
     */
    static native int claim(long id);

    /** Returns the number of a kind of contexts; 0 if there are too many kinds. */
    static native int kind(String type, String label, String[] keys, String[] labels);

    /** The result of {@link #context(int, int, String[])} once no new numbers are available. */
    static final int FULL = -1;

    /**
     * Returns the number of a context inside another one; 0 if it gets no number, for example
     * because it is nested too deep.
     */
    static native int context(int outer, int kind, String[] values);

    /**
     * Returns 1 if a context is nested in another one at any depth. Contexts may come from another
     * class loader's copy of this class.
     */
    static native int inside(int context, int other);

    /** Counts a context that was left out because there are too many. */
    static native void lost();

    /**
     * Returns a memory page in which the kernel counts how often it switched the calling thread
     * out; null if the kernel provides no such page.
     */
    static native ByteBuffer switches();

    /** Returns the calling thread's CPU time, in nanoseconds. */
    static native long cpu();

    /** Returns the flags that {@link Wanted} reads; null if the agent has none. */
    static native ByteBuffer wanted();

    /** Starts counting groups from now on. */
    static native void want();

    /** Returns the number of a group. */
    static native int group(String name);

    /**
     * Returns the buffer in which the calling thread sums its tasks of a group. Null if the thread
     * must call {@link #spend} instead.
     */
    static native ByteBuffer sums(int group);

    /** Adds a finished task to a group. A negative CPU time means that it is unknown. */
    static native void spend(int group, long wall, long cpu);

    /** Counts a task of a group as abandoned: its times are not used. */
    static native void abandon(int group);

    /**
     * Reports a task that took a millisecond or more. The calling thread has already added its
     * times.
     */
    static native void tookLong(int group, long began, long ended, long cpu);

    /** Returns the names of all groups, in the order of their numbers. */
    static native String[] groups();

    /** Returns the sums of a group over all threads, in the order of {@link Sums}. */
    static native long[] spent(int group);

    /**
     * Returns the number of a kind of markers; 0 if there are too many kinds. {@link MarkerClass}
     * has the shapes of fields.
     */
    static native int marker(String type, String label, String description, String[] keys, String[] labels, int[] shapes);

    /**
     * Adds a marker of the calling thread; 0 is a kind without a number. {@code numbers} has an
     * element for each field, and {@code texts} has the fields that are texts, in order.
     */
    static native void mark(int marker, long began, long ended, long[] numbers, String[] texts, boolean stack);
}
