package dev.vouch;

/** The unit of a {@linkplain Marker marker}'s number, so that a timeline can format it. */
public enum Unit {
    /** A plain number. */
    NONE(1),
    /** A size in bytes. */
    BYTES(1),
    /** A time in nanoseconds. */
    NANOSECONDS(1),
    /** A time in microseconds. */
    MICROSECONDS(1_000),
    /** A time in milliseconds. */
    MILLISECONDS(1_000_000),
    /** A time in seconds. */
    SECONDS(1_000_000_000),
    /** A fraction: 1 is 100 %. */
    PERCENTAGE(1);

    /** The factor that turns a time into nanoseconds. */
    final long times;

    Unit(long times) {
        this.times = times;
    }

    boolean isTime() {
        return this == NANOSECONDS || times > 1;
    }
}
