package dev.vouch.test;

import jtreg.SkippedException;

/** Skips a test that cannot run here. jtreg counts it as skipped, and shows the reason. */
public final class Skip {
    private Skip() {}

    public static void unless(boolean possible, String reason) {
        if (!possible) {
            throw new SkippedException(reason);
        }
    }

    /**
     * Skips the test if the agent refused the run because its engine does not work here. The
     * agent's message is the reason.
     */
    public static void ifEngineRefused(Run run) {
        for (String line : run.vouchLines()) {
            if (run.exit == 1 && line.contains("does not work here")) {
                throw new SkippedException(line);
            }
        }
    }
}
