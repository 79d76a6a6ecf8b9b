package dev.vouch.test;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Does a known amount of work: CPU time of the calling thread, as the kernel counts it. For
 * programs under test.
 */
public final class Burn {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    /** Receives results, so that no compiler removes the work. */
    public static volatile long sink;

    private Burn() {}

    /** CPU time of the calling thread so far, in nanoseconds. */
    public static long cpuNanos() {
        return THREADS.getCurrentThreadCpuTime();
    }

    /**
     * Runs until the calling thread has used this much more CPU time. Returns what it really used,
     * in ns.
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
     * Works in pieces that count for at most a millisecond each, so each has time for a signal. A
     * virtual machine that its host paused may charge the thread for more.
     */
    public static long pieces(long millis) {
        FixedWork fixedWork = new FixedWork(millis, 1);
        while (fixedWork.isOn()) {
            sink += work(20_000);
        }
        return fixedWork.charged();
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
