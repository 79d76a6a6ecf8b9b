package dev.vouch;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * For as long as it is open its thread works in a trace, as tracing tools have one: each sample
 * carries the trace's id and its span's.
 *
 * <p>It is closed on the thread that opened it, inner ones before outer ones; try-with-resources does so. What is closed otherwise is never
 * taken for somebody else's: an outer one ends those inside of it, and one that has ended, or is
 * another thread's, ends nothing.
 */
public final class Trace implements AutoCloseable {
    /** Changes nothing. */
    static final Trace NONE = new Trace(null, 0, 0, null);

    /** They are nested so deep, as contexts are. */
    private static final int DEEPEST = 64;
    /** The place of one that is deeper. */
    private static final int BEYOND = -1;
    private static final int DIGITS = 16;
    /**
     * The value of each of ASCII's that is a hexadecimal digit; below nothing: it is none. Both
     * cases will do.
     */
    private static final byte[] VALUES = new byte[128];

    // Where in a W3C traceparent what lies: 00-id-span-01
    private static final int ID = 3;
    private static final int SPAN = 36;
    private static final int FLAGS = 53;
    private static final int END = 55;

    // What a thread keeps: how many traces it is in, the number of the last that it has begun; then
    // of each, the outermost first, its number and its ids. (Numbers, so that no thread keeps this
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
    /** Where among what its thread keeps it lies, for as long as its number is there. */
    private final int place;
    private final long number;
    /** Of one that is beyond what its thread keeps: what its cell said before. */
    private final long[] before;

    private Trace(Thread owner, int place, long number, long[] before) {
        this.owner = owner;
        this.place = place;
        this.number = number;
        this.before = before;
    }

    /** Begins one on the calling thread; zeros: it works in none, whatever is around. */
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
            // Whatever comes now, whoever has it can end it.
            trace = begun;
            Agent.go(cell, depth + 1, high, low, span);
            if ((high | low) != 0) {
                Agent.countUnseen(cell);
            }
        } catch (Throwable mistake) {
            // There is no memory left, or no stack.
        }
        return trace;
    }

    private static int depth(long[] open) {
        return open == null ? 0 : (int) open[DEPTH];
    }

    /**
     * What {@link #now} has told, on whichever thread; null: none. Also where that has left as many
     * open as there can be: the work is not theirs.
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
            // As above.
        }
        return trace;
    }

    /** The ids of the trace that the calling thread works in; null: it works in none. */
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

    /** By ids as they are written. */
    static Trace enter(String id, String span) {
        if (id == null || span == null || id.length() != 2 * DIGITS || span.length() != DIGITS) {
            return NONE;
        }
        return of(id, 0, span, 0);
    }

    /** By a W3C traceparent. */
    static Trace enter(String parent) {
        // (What comes behind the flags is a later version's.)
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

    /** Takes the thread back to the trace that is around it, if any. */
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
        // Not before: where there was no stack left for that it can be closed again.
        open[DEPTH] = depth;
    }

    /** The calling thread works in the innermost of so many. */
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
