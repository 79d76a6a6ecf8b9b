package dev.vouch.test;

/**
 * For tests of what samples say, not of how many there are: as many of them in half the time, where
 * the engine can do that. One that looks when the kernel ticks has no more for a shorter interval,
 * and needs all of the time for what it has.
 */
public final class Pace {
    private final boolean fast;

    private Pace(boolean fast) {
        this.fast = fast;
    }

    /** By the engine of this machine, as a run has told it. */
    public static Pace of(Report report) {
        return new Pace(report.engine().equals("perf"));
    }

    /** A JVM with the agent, and with an interval of its own. */
    public Vm with(String options) {
        return Vm.with("interval=" + (fast ? "500us" : "1ms") + "," + options);
    }

    /** How long a program is to run that has enough samples in so much time at 1 ms. */
    public long millis(long usual) {
        return fast ? usual / 2 : usual;
    }
}
