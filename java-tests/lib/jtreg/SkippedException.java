package jtreg;

/**
 * Thrown by a test that cannot run here. jtreg knows it by this very name, and counts the test as
 * skipped. It must always carry the reason.
 */
public class SkippedException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public SkippedException(String reason) {
        super(reason);
    }
}
