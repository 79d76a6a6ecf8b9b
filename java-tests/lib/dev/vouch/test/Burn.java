package dev.vouch.test;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Work whose amount is known: CPU time of the calling thread, as the kernel counts it. For programs
 * under test.
 */
public final class Burn {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    /** Where results go, so that no compiler removes the work. */
    public static volatile long sink;

    private Burn() {}

    /** CPU time of the calling thread so far, in nanoseconds. */
    public static long cpuNanos() {
        return THREADS.getCurrentThreadCpuTime();
    }

    /**
     * Runs until the calling thread has used this much more CPU time; gives what it really used, in
     * ns.
     */
    public static long millis(long millis) {
        long from = cpuNanos();
        long until = from + millis * 1_000_000;
        long now = from;
        while (now < until) {
            sink += work(20_000);
            now = cpuNanos();
        }
        return now - from;
    }

    /**
     * The same in pieces that count for a millisecond at most: in each of them there was time for a
     * signal, whatever a machine that stands has the thread charged.
     */
    public static long pieces(long millis) {
        Stint stint = new Stint(millis, 1);
        while (stint.isOn()) {
            sink += work(20_000);
        }
        return stint.charged();
    }

    /** A few arithmetic steps, some 1 ns each. */
    public static long work(int steps) {
        long value = steps;
        for (int i = 0; i < steps; i++) {
            value = value * 31 + (value >>> 7 ^ i);
        }
        return value;
    }
}
