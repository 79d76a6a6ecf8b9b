package dev.vouch;

import java.nio.ByteBuffer;

/**
 * For as long as it is open its thread works for a context.
 *
 * <p>It is closed on the thread that opened it, inner ones before outer ones; try-with-resources does so. What is closed otherwise
 * is never taken for somebody else's: an outer one ends those inside of it, and one that is not
 * open on its thread (closed twice, or on another thread) ends nothing.
 */
public final class Scope implements AutoCloseable {
    /** Changes nothing. */
    static final Scope NONE = new Scope(0, 0);

    /**
     * The agent's numbers of the context, and of what it is nested in; 0 is none. There is one
     * scope for each number.
     */
    final int context;
    final int outer;

    Scope(int context, int outer) {
        this.context = context;
        this.outer = outer;
    }

    /**
     * Begins a context on the calling thread; what a context's class gets wrong costs the program
     * nothing.
     */
    static Scope enter(Object context) {
        if (context == null) {
            return NONE;
        }
        // Whatever the program's own classes throw here they would not have thrown without the
        // agent.
        try {
            int outer = Agent.context(Agent.CELLS.get());
            Scope scope = NONE;
            try {
                scope = Kind.of(context).scope(context, outer);
            } finally {
                // The program's own classes may have been in contexts meanwhile: a virtual thread
                // has given back the cell of before.
                ByteBuffer cell = Agent.CELLS.get();
                Agent.go(cell, scope == NONE ? outer : scope.context);
                if (scope != NONE) {
                    Agent.countUnseen(cell);
                }
            }
            return scope;
        } catch (Throwable mistake) {
            return NONE;
        }
    }

    /** Takes the thread back to what it worked for before. */
    @Override
    public void close() {
        if (context == 0) {
            return;
        }
        ByteBuffer cell = Agent.CELLS.get();
        int now = Agent.context(cell);
        Agent.go(cell, now == context || Kind.isInside(now, context) ? outer : now);
    }
}
