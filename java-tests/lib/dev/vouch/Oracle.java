package dev.vouch;

/**
 * Asks the agent how AsyncGetCallTrace and Vouch's own walker differ from GetStackTrace on one
 * thread.
 *
 * The native methods are in libvouch_lab.so (agent/lab). Both walkers walk first and the witness
 * comes last, since GetStackTrace creates the method ids that a walk may lack. This class must
 * contain no logic: dev.vouch.lab.Answer interprets the answers.
 */
public final class Oracle {
    static {
        System.loadLibrary("vouch_lab");
    }

    private Oracle() {}

    /**
     * Walks the calling thread, by a direct call of each walker and by a SIGPROF that the thread
     * sends to itself. Each walk has `depth` frames at most. With depth 0 this does nothing and
     * returns null, so that a caller can be compiled first.
     */
    public static native String self(int depth);

    /**
     * Suspends another thread, walks it by a SIGPROF, and then witnesses it.
     */
    public static native String other(Thread thread, int depth);

    /** As `other`, for very many questions: null if both walks and the witness agree. */
    public static native String difference(Thread thread, int depth);

    /**
     * Breaks AsyncGetCallTrace in this way from now on, so that a difference must be found; null
     * repairs it.
     */
    public static native void breakWalker(String how);
}
