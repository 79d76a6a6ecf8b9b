package dev.vouch.test;

/**
 * A stretch of time that a program measures around something, and that a mark of it has to lie in.
 */
public final class Stretch {
    private Stretch() {
    }

    /** Has a program say when it began, by System.nanoTime, and that it ends now. */
    public static void said(String what, long begin) {
        long end = System.nanoTime();
        System.out.println(what + ".begin=" + begin);
        System.out.println(what + ".end=" + end);
    }

    /** When it began, in milliseconds. */
    public static double begin(Run run, String what) {
        return run.number(what + ".begin") / 1e6;
    }

    /** When it ended, in milliseconds. */
    public static double end(Run run, String what) {
        return run.number(what + ".end") / 1e6;
    }

    /** The mark lies in it. */
    public static void holds(Run run, String what, Mark mark) {
        double begin = begin(run, what);
        double end = end(run, what);
        // The file's times are whole microseconds.
        Check.that(begin - 0.002 <= mark.startMs && mark.endMs <= end + 0.002, mark + " lies within " + begin + " to " + end);
    }
}
