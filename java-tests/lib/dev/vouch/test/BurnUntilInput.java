package dev.vouch.test;

import java.io.IOException;

/**
 * Burns CPU in threads until a line arrives on stdin, or stdin is closed, and for a fixed time
 * more. For a test that decides itself when there are enough samples.
 */
public final class BurnUntilInput {
    /** A stack for some thousand frames. */
    private static final long STACK = 16 << 20;

    private static volatile boolean told;

    private BurnUntilInput() {}

    /**
     * Repeats a piece of work in this many threads, and for `moreMs` of CPU time each after the
     * line arrived.
     */
    public static void burn(int threads, long moreMs, Runnable piece) throws IOException, InterruptedException {
        Thread[] all = new Thread[threads];
        for (int at = 0; at < threads; at++) {
            all[at] = new Thread(null, () -> burn(moreMs, piece), "burning-" + at, STACK);
            all[at].start();
        }
        System.in.read();
        told = true;
        for (Thread thread : all) {
            thread.join();
        }
    }

    private static void burn(long moreMs, Runnable piece) {
        while (!told) {
            piece.run();
        }
        for (FixedWork fixedWork = new FixedWork(moreMs); fixedWork.isOn();) {
            piece.run();
        }
    }
}
