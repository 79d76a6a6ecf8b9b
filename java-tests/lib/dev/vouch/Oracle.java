package dev.vouch;

/**
 * Asks the agent how AsyncGetCallTrace's account of a thread, and that of Vouch's own walker,
 * differ from GetStackTrace's.
 *
 * The answers come from natives in libvouch.so. Each has both walk first and witnesses afterwards,
 * since GetStackTrace makes the method ids that a walk may be lacking. This class must hold no
 * logic: what an answer means is told by dev.vouch.lab.Answer.
 */
public final class Oracle {
    static {
        System.loadLibrary("vouch");
    }

    private Oracle() {}

    /**
     * The calling thread, by a direct call of each walker and by a SIGPROF that the thread sends
     * itself, each with at most `depth` frames. With depth 0 nothing is asked and null comes back:
     * by that a caller can be compiled beforehand.
     */
    public static native String self(int depth);

    /**
     * Another thread, which is suspended meanwhile: walked by a SIGPROF where it stands, then
     * witnessed.
     */
    public static native String other(Thread thread, int depth);

    /** As `other`, for those who ask a million times: null if both walks and the witness agree. */
    public static native String difference(Thread thread, int depth);

    /**
     * From here on AsyncGetCallTrace is broken in this way, so that a difference must be seen; null
     * mends it.
     */
    public static native void breakWalker(String how);
}
