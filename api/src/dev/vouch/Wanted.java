package dev.vouch;

import java.nio.ByteBuffer;

/**
 * Whether anybody wants what a program has to say: a word that the agent writes, and that is read
 * before anything is done.
 */
final class Wanted {
    // Its bits. Both sides have agreed upon them.
    private static final int GROUPS = 1;
    private static final int MARKERS = 2;

    private static final ByteBuffer WORD = find();

    private Wanted() {}

    private static ByteBuffer find() {
        try {
            return Sums.inOrder(Agent.wanted());
        } catch (UnsatisfiedLinkError older) {
            // An agent that knows of contexts alone.
            return null;
        }
    }

    /** True if the agent can be asked. To be asked where it is. */
    static boolean canBe() {
        return WORD != null;
    }

    /** True for {@link Group groups}. To be asked where the agent is. */
    static boolean groups() {
        return has(GROUPS);
    }

    /** True for {@link Marker markers}. To be asked where the agent is. */
    static boolean markers() {
        return has(MARKERS);
    }

    private static boolean has(int what) {
        return WORD != null && (WORD.getInt(0) & what) != 0;
    }
}
