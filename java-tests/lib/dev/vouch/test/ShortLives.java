package dev.vouch.test;

import java.util.ArrayList;
import java.util.List;

/**
 * Checks many short threads together. Each has a few samples or none, because chance decides when a
 * sample is due, but all together must have the weight of their CPU time. The variance follows from
 * the threads: a thread that ran for n intervals and a fraction f has n or n + 1 samples, with
 * variance f(1 - f).
 */
public final class ShortLives {
    /**
     * The time that no engine samples, in milliseconds: each thread's end, after its last sample.
     */
    private static final double FAREWELL_MS = 0.1;
    /** On a slow machine that time is a share of what a thread needs to start and to end. */
    private static final double FAREWELL_PART = 0.25;
    /**
     * A thread was charged for a pause of the machine if its start and end took this many times as
     * long as usual.
     */
    private static final double ODD = 10;
    /** A pause also takes at least this many intervals. */
    private static final double STOOD = 5;

    private final double stride;
    private final boolean isAsked;
    private final boolean isPolled;
    private final List<Double> around = new ArrayList<>();
    private double cpuMs;
    private double sampledMs;
    private double variance;

    public ShortLives(Report report) {
        stride = report.sampledIntervalUs() / 1e3;
        isAsked = report.sampledIntervalUs() == report.intervalUs();
        isPolled = report.engine().equals("poll");
    }

    /** Adds a thread, with its own measure of its work. */
    public void add(Report.ThreadRow row, double burntMs) {
        double part = row.cpuMs / stride - Math.floor(row.cpuMs / stride);
        // If the interval became longer, it is unknown which one applied to a thread.
        variance += stride * stride * (isAsked ? part * (1 - part) : 0.25);
        if (isPolled) {
            // Pollers find a running thread by chance, in half of the intervals, and each sample
            // weighs two.
            variance += 2 * stride * row.cpuMs;
        }
        cpuMs += row.cpuMs;
        sampledMs += row.sampledMs;
        around.add(row.cpuMs - burntMs);
    }

    public int count() {
        return around.size();
    }

    public double cpuMs() {
        return cpuMs;
    }

    /** Checks that the sampled time equals the CPU time. */
    public void check(String what) {
        double usual = around.stream().sorted().skip(around.size() / 2).findFirst().orElse(0.0);
        double farewell = Math.max(FAREWELL_MS, FAREWELL_PART * usual);
        double unseen = around.stream().mapToDouble(each -> each > Math.max(ODD * usual, STOOD * stride) ? each : farewell).sum();
        double chance = Check.FAR * Math.sqrt(variance);
        System.out.printf("%s: %d, %.1f ms of CPU, sampled %.0f ms, unseen %.1f, deviation %.1f%n", what, count(), cpuMs, sampledMs,
            unseen, Math.sqrt(variance));
        Check.between(cpuMs - unseen - chance, sampledMs, cpuMs + chance, "sampled time of the " + what + ", in ms");
    }
}
