package dev.vouch;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The agent's side: natives of libvouch.so, and the cell of each thread.
 *
 * A cell is a little memory that a thread writes and its signal handler reads: the number of the
 * context that the thread works for, and the trace that it works in.
 */
final class Agent {
    /** What both sides have agreed upon. */
    private static final int PROTOCOL = 2;

    /** So many bytes has the cell of a platform thread. */
    private static final int OWN = 32;

    // Where in a cell what lies: the context's number; how many traces the thread is in, and the
    // innermost one.
    private static final int CONTEXT = 0;
    private static final int DEPTH = 4;
    private static final int HIGH = 8;
    private static final int LOW = 16;
    private static final int SPAN = 24;

    /**
     * The agent is loaded. One that is attached later sets it, whatever this class has found out
     * until then.
     */
    static volatile boolean here;

    static {
        if (find()) {
            here = true;
        }
    }

    /** Each thread's. A virtual thread has one for as long as it is in a context or a trace. */
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

    /** The context in a cell of the calling thread's; 0 is none. */
    static int context(ByteBuffer cell) {
        return cell.getInt(CONTEXT);
    }

    /** In how many traces the calling thread is by its cell, and the innermost one's ids. */
    static long[] trace(ByteBuffer cell) {
        return new long[] {cell.getInt(DEPTH), cell.getLong(HIGH), cell.getLong(LOW), cell.getLong(SPAN)};
    }

    /**
     * The calling thread, whose cell it is, goes on with this context; 0 is none, and then the cell
     * is not to be used again.
     */
    static void go(ByteBuffer cell, int context) {
        cell.putInt(CONTEXT, context);
        // To a compiler that is a word like any other: it may write it behind a whole loop that
        // does not touch memory, so that this is shown under the context before. It may not behind
        // what reads a volatile.
        @SuppressWarnings("unused")
        boolean fence = here;
        settle(cell);
    }

    /**
     * The calling thread, whose cell it is, goes on in so many traces, this one innermost. If it is
     * in none that cell is not to be used again.
     */
    static void go(ByteBuffer cell, int depth, long high, long low, long span) {
        // While half of it is written there is none; no compiler may write the one behind the
        // other.
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

    /** A virtual thread that works for nobody has no cell. */
    private static void settle(ByteBuffer cell) {
        if (cell.capacity() != OWN && cell.getInt(CONTEXT) == 0 && cell.getInt(DEPTH) == 0) {
            Virtuals.giveBack(cell);
        }
    }

    /** The context of the calling thread; 0 is none. */
    static int now() {
        ByteBuffer cell = CELLS.get();
        int context = context(cell);
        settle(cell);
        return context;
    }

    /** The calling thread goes on with this context. */
    static void go(int context) {
        go(CELLS.get(), context);
    }

    /** It does so for as long as it does work that was given to it. */
    static void carry(int context) {
        ByteBuffer cell = CELLS.get();
        go(cell, context);
        if (context != 0) {
            countUnseen(cell);
        }
    }

    /**
     * The calling thread has begun a context or a trace in this cell of its own, which may be one
     * that no handler finds.
     */
    static void countUnseen(ByteBuffer cell) {
        if (cell.capacity() == Virtuals.UNSEEN) {
            lost();
        }
    }

    static native int protocol();

    /** The calling thread's; null if it can have none. */
    private static native ByteBuffer cell();

    /** The table in which virtual threads have their cells; null if there is none. */
    static native ByteBuffer virtuals();

    /**
     * How far in that table the calling virtual thread has its cell from now on; -1 if there is no
     * room, or this JVM does not publish it.
     */
    static native int claim(long id);

    /** The number of a kind of contexts; 0 if there are too many. */
    static native int kind(String type, String label, String[] keys, String[] labels);

    /** What {@link #context} says if it will say no other number any more. */
    static final int FULL = -1;

    /**
     * The number of a context inside of another one; 0 if this one gets none, as one that is nested
     * too deep.
     */
    static native int context(int outer, int kind, String[] values);

    /**
     * 1 if a context lies somewhere inside of another one; for those that another copy of this
     * class has asked for.
     */
    static native int inside(int context, int other);

    /** A context is left out, since there are too many. */
    static native void lost();

    /**
     * A page of memory in which the kernel counts how often the calling thread is taken off its
     * processor; null if there is none.
     */
    static native ByteBuffer switches();

    /** The calling thread's CPU time, in nanoseconds. */
    static native long cpu();

    /** A word that {@link Wanted} reads; null if it cannot be had. */
    static native ByteBuffer wanted();

    /** From now on somebody wants to know of groups. */
    static native void want();

    /** The number of a group. */
    static native int group(String name);

    /** Where the calling thread adds up its tasks of a group; null: it is not to do so itself. */
    static native ByteBuffer sums(int group);

    /**
     * A task of a group has taken so long, of which the CPU time is below nothing if it is not
     * known.
     */
    static native void spend(int group, long wall, long cpu);

    /** How long a task of a group took says nothing. */
    static native void abandon(int group);

    /** A task of the calling thread, which is added up already, took a millisecond or more. */
    static native void tookLong(int group, long began, long ended, long cpu);

    /** The names of all groups, by their numbers. */
    static native String[] groups();

    /** What all tasks of a group have taken, as {@link Sums} has it. */
    static native long[] spent(int group);

    /**
     * The number of a kind of markers, of whose fields each has a shape that {@link Told} knows; 0
     * if there are too many.
     */
    static native int marker(String type, String label, String description, String[] keys, String[] labels, int[] shapes);

    /**
     * One of them, of the calling thread; 0 is one that has no number. Each field has a number, and
     * those that are texts have these, in their order.
     */
    static native void mark(int marker, long began, long ended, long[] numbers, String[] texts, boolean stack);
}
