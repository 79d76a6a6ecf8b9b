package dev.vouch.test;

import java.util.Collection;

/**
 * Assertions that print the expected and the actual value. A test must never catch what they throw.
 * A value that passed by a small margin is printed, too, because it may fail next time;
 * `scripts/flakes` lists such values.
 */
public final class Check {
    /** A limit in standard deviations. Chance exceeds it once in a million times. */
    public static final double FAR = 4.9;

    /**
     * A margin below this share of the bound, or of the distance of two bounds, is printed as
     * close.
     */
    private static final double CLOSE = 0.02;

    private Check() {}

    public static void that(boolean holds, String what) {
        if (!holds) {
            fail(what);
        }
    }

    public static void equal(Object expected, Object actual, String what) {
        if (expected == null ? actual != null : !expected.equals(actual)) {
            fail(what + ": expected <" + expected + ">, came <" + actual + ">");
        }
    }

    public static void equal(long expected, long actual, String what) {
        if (expected != actual) {
            fail(what + ": expected " + expected + ", came " + actual);
        }
    }

    public static void atLeast(double least, double actual, String what) {
        held(actual - least, least, what + ": expected at least " + number(least) + ", came " + number(actual));
    }

    public static void atMost(double most, double actual, String what) {
        held(most - actual, most, what + ": expected at most " + number(most) + ", came " + number(actual));
    }

    public static void between(double least, double actual, double most, String what) {
        String told = what + ": expected " + number(least) + " to " + number(most) + ", came " + number(actual);
        held(Math.min(actual - least, most - actual), most - least, told);
    }

    /** Fails unless the value is an index from 0 to below `size`. */
    public static void index(long size, long actual, String what) {
        if (actual < 0 || actual >= size) {
            fail(what + ": expected one of " + size + " from 0 on, came " + actual);
        }
    }

    /** Fails unless the values differ by at most the tolerance, in their unit. */
    public static void near(double expected, double actual, double tolerance, String what) {
        String told = what + ": expected " + number(expected) + " ± " + number(tolerance) + ", came " + number(actual);
        held(tolerance - Math.abs(expected - actual), tolerance, told);
    }

    /**
     * The number of `trials` that must succeed if each does so with this probability. Chance gives
     * fewer once in a million times.
     */
    public static double leastOf(long trials, double probability) {
        return trials * probability - FAR * Math.sqrt(trials * probability * (1 - probability));
    }

    /** The number of `trials` with this probability that chance exceeds once in a million times. */
    public static double mostOf(long trials, double probability) {
        return trials - leastOf(trials, 1 - probability);
    }

    public static void contains(String text, String part, String what) {
        if (!text.contains(part)) {
            fail(what + ": expected <" + part + "> in <" + text + ">");
        }
    }

    public static void contains(Collection<?> all, Object one, String what) {
        if (!all.contains(one)) {
            fail(what + ": expected <" + one + "> among " + all);
        }
    }

    public static void empty(Collection<?> all, String what) {
        if (!all.isEmpty()) {
            fail(what + ": expected none, came " + all.size() + ": " + first(all));
        }
    }

    /** Fails if the margin is negative, and prints a margin that is small compared with `all`. */
    private static void held(double room, double all, String told) {
        if (!(room >= 0)) {
            fail(told);
        }
        if (all > 0 && room < CLOSE * all) {
            System.out.println("close: " + told);
        }
    }

    public static void fail(String what) {
        throw new AssertionError(what);
    }

    private static String first(Collection<?> all) {
        StringBuilder text = new StringBuilder();
        int room = 10;
        for (Object one : all) {
            if (room-- == 0) {
                return text + "…";
            }
            text.append(one).append("; ");
        }
        return text.toString();
    }

    private static String number(double value) {
        return value == Math.rint(value) && Math.abs(value) < 1e15 ? Long.toString((long) value) : Double.toString(value);
    }
}
