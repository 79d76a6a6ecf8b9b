package dev.vouch.test;

import java.util.ArrayList;
import java.util.List;

/**
 * Collects what a run lacked because the machine was busy or paused. Everything else is checked;
 * then the test is skipped, and prints what it lacked.
 */
public final class BusyHostGaps {
    /**
     * A run that takes this many times as long as its work has too little of the machine. Two tests
     * at once on two processors take twice as long.
     */
    private static final double BUSY = 3;
    /** The time for the start and the end of a JVM on a busy machine. */
    private static final double AROUND_MS = 1_000;

    private final List<String> lacks = new ArrayList<>();

    /**
     * True if at least `least` items came during `workMs` of the program's CPU time. Fewer are a
     * fault of the agent if the machine had time, and none at all always is one.
     */
    public boolean enough(double least, double came, Report report, double workMs, String what) {
        if (came >= least) {
            return true;
        }
        if (came == 0 || report.wallMs() < BUSY * workMs + AROUND_MS) {
            Check.atLeast(least, came, what + ", in " + report.wallMs() + " ms of wall time");
        }
        lacks(what + ": " + came + " where " + least + " are needed, in " + report.wallMs() + " ms for " + workMs + " ms of work");
        return false;
    }

    /** Records something that could not be checked. */
    public void lacks(String what) {
        lacks.add(what);
    }

    /** Skips the test if it lacked anything. Call it at the end. */
    public void tell() {
        Skip.unless(lacks.isEmpty(), "the machine had no time for it: " + String.join("; ", lacks));
    }
}
