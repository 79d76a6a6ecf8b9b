package dev.vouch;

import java.nio.ByteBuffer;

/**
 * For as long as it is open its thread works in a trace, as tracing tools have one: each sample carries the trace's id and its span's.
 *
 * <p>It is closed on the thread that opened it, inner ones before outer ones; try-with-resources does so. What is closed otherwise is never
 * taken for somebody else's: an outer one ends those inside of it, and one that is closed again, or on another thread, ends nothing.
 */
public final class Trace implements AutoCloseable {
    /** Changes nothing. */
    static final Trace NONE = new Trace(null, 0, new long[3]);

    private static final int DIGITS = 16;
    /** The value of each of ASCII's that is a hexadecimal digit; below nothing: it is none. Both cases will do. */
    private static final byte[] VALUES = new byte[128];
    // Where in a W3C traceparent what lies: 00-id-span-01
    private static final int ID = 3;
    private static final int SPAN = 36;
    private static final int FLAGS = 53;

    static {
        for (char letter = 0; letter < VALUES.length; letter++) {
            VALUES[letter] = (byte) Character.digit(letter, 16);
        }
    }

    private final Thread owner;
    /** So many its thread is in while this one is the innermost. */
    private final int depth;
    /** The one around it, if there is one. */
    private final long[] outer;
    private boolean closed;

    private Trace(Thread owner, int depth, long[] outer) {
        this.owner = owner;
        this.depth = depth;
        this.outer = outer;
    }

    /** Begins one on the calling thread; zeros: it works in none, whatever is around. */
    static Trace enter(long high, long low, long span) {
        try {
            ByteBuffer cell = Agent.CELLS.get();
            int depth = Agent.depth(cell);
            if (high == 0 && low == 0 && depth == 0) {
                Agent.settle(cell);
                return NONE;
            }
            Trace trace = new Trace(Thread.currentThread(), depth + 1, Agent.trace(cell));
            Agent.go(cell, depth + 1, high, low, span);
            return trace;
        } catch (Throwable mistake) {
            // There is no memory left, or no stack.
            return NONE;
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
        if (parent == null || parent.length() <= FLAGS || parent.charAt(ID - 1) != '-' || parent.charAt(SPAN - 1) != '-'
                || parent.charAt(FLAGS - 1) != '-') {
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

    /** Takes the thread back to the trace that it was in before, if any. */
    @Override
    public void close() {
        if (closed || owner != Thread.currentThread()) {
            return;
        }
        closed = true;
        ByteBuffer cell = Agent.CELLS.get();
        if (Agent.depth(cell) >= depth) {
            Agent.go(cell, depth - 1, outer[0], outer[1], outer[2]);
        } else {
            // One around it was closed before.
            Agent.settle(cell);
        }
    }
}
