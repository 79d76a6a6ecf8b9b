package dev.vouch.test;

import java.util.ArrayList;
import java.util.List;

/**
 * Many threads of one kind, each of which lives for a few samples or for none: when a sample is due
 * is chance, but all together must have the weight that their CPU time asks for. What that is worth
 * is reckoned from the threads themselves: a thread that ran for n intervals and a part f has n
 * samples or n + 1, whose variance is f(1 - f).
 */
public final class ShortLives {
    /** What no engine sees: each thread's farewell, after its last sample, in milliseconds. */
    private static final double FAREWELL_MS = 0.1;
    /** On a slow machine it is a part of what a thread runs to begin and to end. */
    private static final double FAREWELL_PART = 0.25;
    /**
     * One that ran so many times as long as the others to begin and to end was charged for what it
     * did not do: the machine stood.
     */
    private static final double ODD = 10;
    /** And no less than so many intervals. */
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

    /** A thread, and what it says that its own work took. */
    public void add(Report.ThreadRow row, double burntMs) {
        double part = row.cpuMs / stride - Math.floor(row.cpuMs / stride);
        // Where the interval had to become longer, nobody knows which one a thread had.
        variance += stride * stride * (isAsked ? part * (1 - part) : 0.25);
        if (isPolled) {
            // Pollers find a thread by chance, for each interval that it runs, with a sample that
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

    /** Their sampled time is their CPU time. */
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
