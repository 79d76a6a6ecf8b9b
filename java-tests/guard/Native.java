import java.nio.file.Path;

import dev.vouch.test.Cc;

/** The doors to faults.c. */
class Native {
    private Native() {}

    static Path library() {
        return Cc.library("faults");
    }

    /** Has faults of a page of its own handled by itself, and passes on all others. */
    static native void handle();

    /** Makes one; gives how many were handled so far. */
    static native int fault();

    /** Burns CPU time with SIGSEGV and SIGBUS blocked. */
    static native void burnBlocked(int ms);

    /**
     * Lets signals come whose handler jumps back over whatever the thread is at; gives how many
     * came.
     */
    static native int jumpAway(int times);

    /** Writes where no memory is. */
    static native void crash();

    /**
     * How many SafeFetch functions of the JVM's were found, and give what is asked for where no
     * memory is.
     */
    static native int safeFetches();
}
