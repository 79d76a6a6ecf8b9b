package dev.vouch.test;

import java.util.ArrayList;
import java.util.List;

/**
 * What a run had too little of because the machine was in use elsewhere, or stood still. All else
 * is judged; then the test is skipped, and says what it lacked.
 */
public final class Weather {
    /**
     * A machine that takes so many times as long as the work has no time for it. Two tests at once
     * on two processors take twice as long.
     */
    private static final double BUSY = 3;
    /** The start and the end of a JVM that has little of a machine. */
    private static final double AROUND_MS = 1_000;

    private final List<String> lacks = new ArrayList<>();

    /**
     * True if so many came of what comes at the agent's pace beside `workMs` of the program's CPU
     * time. Fewer are a fault of the agent's where the machine had time for both, and none at all
     * always are.
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

    /** This could not be judged. */
    public void lacks(String what) {
        lacks.add(what);
    }

    /** To be called at the end: skips the test if it lacked anything. */
    public void tell() {
        Skip.unless(lacks.isEmpty(), "the machine had no time for it: " + String.join("; ", lacks));
    }
}
