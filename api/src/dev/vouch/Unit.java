package dev.vouch;

/**
 * In what a number of a {@linkplain Marker marker} is counted, so that a timeline shows it in a way
 * that people read.
 */
public enum Unit {
    /** It is a mere number. */
    NONE(1),
    /** A size. */
    BYTES(1),
    /** A time. */
    NANOSECONDS(1),
    /** A time. */
    MICROSECONDS(1_000),
    /** A time. */
    MILLISECONDS(1_000_000),
    /** A time. */
    SECONDS(1_000_000_000),
    /** A share of a whole: 1 is all of it. */
    PERCENTAGE(1);

    /** Times are told in nanoseconds. */
    final long times;

    Unit(long times) {
        this.times = times;
    }

    boolean isTime() {
        return this == NANOSECONDS || times > 1;
    }
}
