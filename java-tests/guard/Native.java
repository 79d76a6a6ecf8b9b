import java.nio.file.Path;

import dev.vouch.test.CCompiler;

/** The native functions of faults.c. */
class Native {
    private Native() {}

    static Path library() {
        return CCompiler.library("faults");
    }

    /** Installs a handler for faults in one page, which passes on all others. */
    static native void handle();

    /** Causes a fault in that page; returns how many were handled so far. */
    static native int fault();

    /** Burns CPU time with SIGSEGV and SIGBUS blocked. */
    static native void burnBlocked(int ms);

    /**
     * Starts a timer; its handler jumps back over whatever the thread is running. Returns how many
     * signals came.
     */
    static native int jumpAway(int times);

    /** Writes to an unmapped address. */
    static native void crash();

    /**
     * How many of the JVM's SafeFetch functions were found, and return the fallback for unmapped
     * memory.
     */
    static native int safeFetches();
}
