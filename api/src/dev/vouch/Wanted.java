package dev.vouch;

import java.nio.ByteBuffer;

/**
 * Flags that the agent sets while groups are counted or markers are recorded. They are read before
 * any other work.
 */
final class Wanted {
    // The bits. The agent has the same constants.
    private static final int GROUPS = 1;
    private static final int MARKERS = 2;

    private static final ByteBuffer WORD = find();

    private Wanted() {}

    private static ByteBuffer find() {
        try {
            return Sums.inOrder(Agent.wanted());
        } catch (UnsatisfiedLinkError older) {
            // An older agent supports contexts only.
            return null;
        }
    }

    /** True if the agent has these flags. Call this only if the agent is loaded. */
    static boolean canBe() {
        return WORD != null;
    }

    /** True while {@link Group groups} are counted. Call this only if the agent is loaded. */
    static boolean groups() {
        return has(GROUPS);
    }

    /** True while {@link Marker markers} are recorded. Call this only if the agent is loaded. */
    static boolean markers() {
        return has(MARKERS);
    }

    private static boolean has(int what) {
        return WORD != null && (WORD.getInt(0) & what) != 0;
    }
}
