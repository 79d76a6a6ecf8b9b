package dev.vouch;

import java.nio.ByteBuffer;

/**
 * The agent's side: natives of libvouch.so, and the cell of each thread.
 *
 * A cell is a word of memory that a thread writes and its signal handler reads: the number of the context that the thread works for.
 */
final class Agent {
    /** What both sides have agreed upon. */
    private static final int PROTOCOL = 1;

    /** The agent is loaded. One that is attached later sets it. */
    static boolean here = find();

    /** Each thread's. A virtual thread has one that no handler reads. */
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
        ByteBuffer cell = Kind.isVirtual(Thread.currentThread()) ? null : cell();
        return (cell == null ? ByteBuffer.allocate(8) : cell).order(java.nio.ByteOrder.nativeOrder());
    }

    static native int protocol();

    /** The calling thread's; null if it can have none. */
    private static native ByteBuffer cell();

    /** The number of a kind of contexts; 0 if there are too many. */
    static native int kind(String type, String label, String[] keys, String[] labels);

    /** What {@link #context} says if it will say no other number any more. */
    static final int FULL = -1;

    /** The number of a context inside of another one; 0 if this one gets none, as one that is nested too deep. */
    static native int context(int outer, int kind, String[] values);

    /** A context is left out, since there are too many. */
    static native void lost();
}
