package dev.vouch.test;

/** A period of time that a program measures around something. A marker must be within it. */
public final class MeasuredPeriod {
    private MeasuredPeriod() {
    }

    /** Makes a program print when the period began, by System.nanoTime, and that it ends now. */
    public static void said(String what, long begin) {
        long end = System.nanoTime();
        System.out.println(what + ".begin=" + begin);
        System.out.println(what + ".end=" + end);
    }

    /** The period's start, in milliseconds. */
    public static double begin(Run run, String what) {
        return run.number(what + ".begin") / 1e6;
    }

    /** The period's end, in milliseconds. */
    public static double end(Run run, String what) {
        return run.number(what + ".end") / 1e6;
    }

    /** Checks that the marker is within the period. */
    public static void holds(Run run, String what, Mark mark) {
        double begin = begin(run, what);
        double end = end(run, what);
        // The file's times are whole microseconds.
        Check.that(begin - 0.002 <= mark.startMs && mark.endMs <= end + 0.002, mark + " lies within " + begin + " to " + end);
    }
}
