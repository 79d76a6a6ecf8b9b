package dev.vouch;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The cells of virtual threads: a table by thread id. The signal handler of a carrier thread finds
 * the cell of the mounted virtual thread there.
 *
 * There are many virtual threads, and the agent does not see when one ends. So each has a cell only
 * while it is in a context or a trace.
 */
final class Virtuals {
    /** The size of a cell in the table, in bytes. */
    private static final int SEEN = 40;
    /** The size of a cell that no signal handler reads, in bytes. */
    static final int UNSEEN = 48;
    /**
     * The offset of the thread's id in a cell of the table; an id of 0 means that the cell is free.
     */
    private static final int ID = 32;

    private static final ByteBuffer TABLE = Agent.virtuals();

    private Virtuals() {}

    /** Returns a cell for the calling virtual thread. */
    static ByteBuffer cell(Thread self) {
        // Newer JDKs call this threadId(). A virtual thread cannot override it.
        @SuppressWarnings("deprecation")
        int place = TABLE == null ? -1 : Agent.claim(self.getId());
        if (place < 0) {
            return ByteBuffer.allocate(UNSEEN).order(ByteOrder.nativeOrder());
        }
        ByteBuffer cell = TABLE.duplicate();
        cell.position(place).limit(place + SEEN);
        return cell.slice().order(ByteOrder.nativeOrder());
    }

    /** Returns the cell of the calling thread, which is in no context and no trace any more. */
    static void giveBack(ByteBuffer cell) {
        Agent.CELLS.remove();
        if (cell.capacity() == SEEN) {
            cell.putLong(ID, 0);
        }
    }
}
