package dev.vouch;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The cells of virtual threads: a table by their ids, in which the handler of whoever carries one
 * finds it.
 *
 * There are many virtual threads, and nobody tells of their ends: so each has a cell for as long as
 * it is in a context or a trace, and no longer.
 */
final class Virtuals {
    /** So many bytes has a cell of the table, */
    private static final int SEEN = 40;
    /** and one that no handler reads. */
    static final int UNSEEN = 48;
    /** Where a cell of the table has its thread's id; 0: it is nobody's. */
    private static final int ID = 32;

    private static final ByteBuffer TABLE = Agent.virtuals();

    private Virtuals() {}

    /** For the calling virtual thread. */
    static ByteBuffer cell(Thread self) {
        // What newer JDKs call threadId(), which a virtual thread cannot override.
        @SuppressWarnings("deprecation")
        int place = TABLE == null ? -1 : Agent.claim(self.getId());
        if (place < 0) {
            return ByteBuffer.allocate(UNSEEN).order(ByteOrder.nativeOrder());
        }
        ByteBuffer cell = TABLE.duplicate();
        cell.position(place).limit(place + SEEN);
        return cell.slice().order(ByteOrder.nativeOrder());
    }

    /** The calling thread, whose it is, is in no context and no trace any more. */
    static void giveBack(ByteBuffer cell) {
        Agent.CELLS.remove();
        if (cell.capacity() == SEEN) {
            cell.putLong(ID, 0);
        }
    }
}
