package dev.vouch;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * A trace, as tracing tools have one, that its thread works in until it is closed. Each sample
 * carries the ids of the trace and of the span.
 *
 * <p>Close a trace on the thread that opened it, inner traces before outer ones; try-with-resources
 * does so. Closing an outer trace also ends the traces inside it. Closing a trace twice, or on
 * another thread, has no effect.
 */
public final class Trace implements AutoCloseable {
    /** A trace without effect. */
    static final Trace NONE = new Trace(null, 0, 0, null);

    /** The maximum depth of nesting, as for contexts. */
    private static final int DEEPEST = 64;
    /** The index of a trace beyond the maximum depth. */
    private static final int BEYOND = -1;
    private static final int DIGITS = 16;
    /**
     * The value of each ASCII character as a hexadecimal digit of either case; negative for other
     * characters.
     */
    private static final byte[] VALUES = new byte[128];

    // Offsets in a W3C traceparent: 00-id-span-01
    private static final int ID = 3;
    private static final int SPAN = 36;
    private static final int FLAGS = 53;
    private static final int END = 55;

    // A thread keeps its depth, the number of the last trace that it began, and then each open
    // trace's number and ids, the outermost first. (These are numbers, so that no thread keeps this
    // class loader.)
    private static final int DEPTH = 0;
    private static final int LAST = 1;
    private static final int FIRST = 2;
    private static final int WORDS = 4;
    private static final ThreadLocal<long[]> OPEN = new ThreadLocal<>();

    static {
        for (char letter = 0; letter < VALUES.length; letter++) {
            VALUES[letter] = (byte) Character.digit(letter, 16);
        }
    }

    private final Thread owner;
    /** The index of this trace in its thread's array, valid while its number is there. */
    private final int place;
    private final long number;
    /** The thread's previous ids, for a trace beyond the maximum depth. */
    private final long[] before;

    private Trace(Thread owner, int place, long number, long[] before) {
        this.owner = owner;
        this.place = place;
        this.number = number;
        this.before = before;
    }

    /** Begins a trace on the calling thread. With an id of zeros the thread is in no trace. */
    static Trace enter(long high, long low, long span) {
        Trace trace = NONE;
        try {
            long[] open = OPEN.get();
            int depth = depth(open);
            if (high == 0 && low == 0 && depth == 0) {
                return NONE;
            }
            if (depth == DEEPEST) {
                Agent.lost();
                return NONE;
            }
            int place = FIRST + depth * WORDS;
            if (open == null || place == open.length) {
                open = open == null ? new long[FIRST + WORDS] : Arrays.copyOf(open, FIRST + 2 * depth * WORDS);
                OPEN.set(open);
            }
            Trace begun = new Trace(Thread.currentThread(), place, open[LAST] + 1, null);
            ByteBuffer cell = Agent.CELLS.get();
            open[LAST] = begun.number;
            open[place] = begun.number;
            open[place + 1] = high;
            open[place + 2] = low;
            open[place + 3] = span;
            open[DEPTH] = depth + 1;
            // If anything below fails, the caller can still close this trace.
            trace = begun;
            Agent.go(cell, depth + 1, high, low, span);
            if ((high | low) != 0) {
                Agent.countUnseen(cell);
            }
        } catch (Throwable mistake) {
            // There is no memory or no stack left.
        }
        return trace;
    }

    private static int depth(long[] open) {
        return open == null ? 0 : (int) open[DEPTH];
    }

    /**
     * Begins the trace that {@link #now} returned, on any thread; null means no trace. This also
     * works on a thread that is at the maximum depth, because the task does not belong to the
     * thread's own traces.
     */
    static Trace carry(long[] ids) {
        long high = ids == null ? 0 : ids[0];
        long low = ids == null ? 0 : ids[1];
        long span = ids == null ? 0 : ids[2];
        long[] open = OPEN.get();
        if (depth(open) < DEEPEST) {
            return enter(high, low, span);
        }
        Trace trace = NONE;
        try {
            ByteBuffer cell = Agent.CELLS.get();
            Trace begun = new Trace(Thread.currentThread(), BEYOND, 0, Agent.trace(cell));
            trace = begun;
            Agent.go(cell, DEEPEST + 1, high, low, span);
        } catch (Throwable mistake) {
            // There is no memory or no stack left.
        }
        return trace;
    }

    /** Returns the ids of the calling thread's trace; null if it is in no trace. */
    static long[] now() {
        try {
            long[] open = OPEN.get();
            if (depth(open) == DEEPEST) {
                long[] shown = Agent.trace(Agent.CELLS.get());
                return (shown[1] | shown[2]) == 0 ? null : Arrays.copyOfRange(shown, 1, shown.length);
            }
            int end = FIRST + depth(open) * WORDS;
            return end == FIRST ? null : Arrays.copyOfRange(open, end - WORDS + 1, end);
        } catch (Throwable mistake) {
            return null;
        }
    }

    /** Begins a trace by hexadecimal ids. */
    static Trace enter(String id, String span) {
        if (id == null || span == null || id.length() != 2 * DIGITS || span.length() != DIGITS) {
            return NONE;
        }
        return of(id, 0, span, 0);
    }

    /** Begins a trace by a W3C traceparent. */
    static Trace enter(String parent) {
        // Later versions of the header may continue after the flags.
        boolean isLong = parent != null && (parent.startsWith("00") ? parent.length() == END : parent.length() >= END);
        if (!isLong || parent.charAt(ID - 1) != '-' || parent.charAt(SPAN - 1) != '-' || parent.charAt(FLAGS - 1) != '-') {
            return NONE;
        }
        boolean isOfVersion = isNumber(parent, 0, 2) && !parent.regionMatches(true, 0, "ff", 0, 2);
        if (!isOfVersion || !isNumber(parent, FLAGS, 2)) {
            return NONE;
        }
        return of(parent, ID, parent, SPAN);
    }

    private static Trace of(String id, int from, String span, int spanFrom) {
        if (!isNumber(id, from, 2 * DIGITS) || !isNumber(span, spanFrom, DIGITS)) {
            return NONE;
        }
        return enter(number(id, from), number(id, from + DIGITS), number(span, spanFrom));
    }

    private static boolean isNumber(String text, int from, int digits) {
        for (int at = from; at < from + digits; at++) {
            if (value(text.charAt(at)) < 0) {
                return false;
            }
        }
        return true;
    }

    private static long number(String text, int from) {
        long number = 0;
        for (int at = from; at < from + DIGITS; at++) {
            number = number << 4 | value(text.charAt(at));
        }
        return number;
    }

    private static int value(char letter) {
        return letter < VALUES.length ? VALUES[letter] : -1;
    }

    /** Sets the thread back to the trace around this one, if any. */
    @Override
    public void close() {
        if (owner != Thread.currentThread()) {
            return;
        }
        long[] open = OPEN.get();
        if (place == BEYOND) {
            if (depth(open) == DEEPEST) {
                Agent.go(Agent.CELLS.get(), (int) before[0], before[1], before[2], before[3]);
            } else {
                show(open, depth(open));
            }
            return;
        }
        int depth = (place - FIRST) / WORDS;
        if (depth >= depth(open) || open[place] != number) {
            return;
        }
        show(open, depth);
        // This comes last, so that a failed {@code close} can be repeated.
        open[DEPTH] = depth;
    }

    /** Makes the trace at this depth the calling thread's innermost one. */
    private static void show(long[] open, int depth) {
        ByteBuffer cell = Agent.CELLS.get();
        int end = FIRST + depth * WORDS;
        if (depth == 0) {
            Agent.go(cell, 0, 0, 0, 0);
        } else {
            Agent.go(cell, depth, open[end - WORDS + 1], open[end - WORDS + 2], open[end - WORDS + 3]);
        }
    }
}
