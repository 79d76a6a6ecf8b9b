package dev.vouch.test;

/**
 * A fixed amount of work of the calling thread, by its CPU clock: `for (FixedWork work = new
 * FixedWork(1_000); work.isOn();) { a piece of work }`. A virtual machine that its host pauses may
 * charge the running thread for the pause. So a piece counts for at most the longest piece of real
 * work. For programs under test.
 */
public final class FixedWork {
    /** The longest piece of real work between two reads of the clock, in milliseconds. */
    public static final long LONGEST_MS = 20;

    private final long most;
    private final long longest;
    private final long begun = Burn.cpuNanos();
    private long now = begun;
    private long worked;

    public FixedWork(long millis) {
        this(millis, LONGEST_MS);
    }

    /** Work in pieces that count for at most `longestMs`. */
    public FixedWork(long millis, long longestMs) {
        most = millis * 1_000_000;
        longest = longestMs * 1_000_000;
    }

    /** True while there is more work to do. */
    public boolean isOn() {
        long before = now;
        now = Burn.cpuNanos();
        worked += Math.min(now - before, longest);
        return worked < most;
    }

    /** The CPU time charged up to the last read of the clock, in nanoseconds. */
    public long charged() {
        return now - begun;
    }

    /** The part of the charged time that cannot be work. */
    public long idle() {
        return charged() - worked;
    }
}
