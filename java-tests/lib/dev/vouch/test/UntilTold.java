package dev.vouch.test;

import java.io.IOException;

/**
 * Threads that burn until somebody writes a line to the program, or nobody can, and for a while
 * more: for a test that knows when there was enough, however long that takes.
 */
public final class UntilTold {
    /** Room for some thousand frames. */
    private static final long STACK = 16 << 20;

    private static volatile boolean told;

    private UntilTold() {}

    /** So many of them do this piece by piece, each for so much CPU time more. */
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
        for (Stint stint = new Stint(moreMs); stint.isOn();) {
            piece.run();
        }
    }
}
