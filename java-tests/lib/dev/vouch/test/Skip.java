package dev.vouch.test;

import jtreg.SkippedException;

/**
 * Ways out for a test that cannot run here: jtreg counts it as skipped and shows the reason.
 */
public final class Skip {
    private Skip() {}

    public static void unless(boolean possible, String reason) {
        if (!possible) {
            throw new SkippedException(reason);
        }
    }

    /**
     * Skips if this run was refused for its engine's sake: the agent's own sentence is the reason.
     */
    public static void ifEngineRefused(Run run) {
        for (String line : run.vouchLines()) {
            if (run.exit == 1 && line.contains("does not work here")) {
                throw new SkippedException(line);
            }
        }
    }
}
