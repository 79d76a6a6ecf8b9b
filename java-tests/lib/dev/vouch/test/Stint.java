package dev.vouch.test;

/**
 * So much work of the calling thread, by its CPU clock:
 * `for (Stint stint = new Stint(1_000); stint.isOn();) { a piece of work }`. A virtual machine that
 * its host stops may charge the thread that was running for that time. A piece that took longer
 * than any work does counts for no more than the longest, so the work is done all the same. For
 * programs under test.
 */
public final class Stint {
    /** No piece of work between two looks at the clock takes so long, in milliseconds. */
    public static final long LONGEST_MS = 20;

    private final long most;
    private final long longest;
    private final long begun = Burn.cpuNanos();
    private long now = begun;
    private long worked;

    public Stint(long millis) {
        this(millis, LONGEST_MS);
    }

    /** With pieces of at most `longestMs`. */
    public Stint(long millis, long longestMs) {
        most = millis * 1_000_000;
        longest = longestMs * 1_000_000;
    }

    /** True while there is more to do. */
    public boolean isOn() {
        long before = now;
        now = Burn.cpuNanos();
        worked += Math.min(now - before, longest);
        return worked < most;
    }

    /** What the thread was charged up to the last look at the clock, in nanoseconds. */
    public long charged() {
        return now - begun;
    }

    /** What of it can be no work. */
    public long idle() {
        return charged() - worked;
    }
}
