package dev.vouch.test;

/**
 * For tests of the contents of samples. Where the engine allows it, such a test runs at half the
 * interval for half the time. An engine that polls at kernel ticks gets no more samples from a
 * shorter interval, and needs the whole time.
 */
public final class Pace {
    private final boolean fast;

    private Pace(boolean fast) {
        this.fast = fast;
    }

    /** The pace for this machine's engine, from the report of a run. */
    public static Pace of(Report report) {
        return new Pace(report.engine().equals("perf"));
    }

    /** A JVM with the agent, at this pace's interval. */
    public Vm with(String options) {
        return Vm.with("interval=" + (fast ? "500us" : "1ms") + "," + options);
    }

    /** The run time of a program that needs `usual` ms at an interval of 1 ms. */
    public long millis(long usual) {
        return fast ? usual / 2 : usual;
    }
}
