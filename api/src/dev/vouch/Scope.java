package dev.vouch;

import java.nio.ByteBuffer;

/**
 * A context that its thread works in until the scope is closed.
 *
 * <p>Close a scope on the thread that opened it, inner scopes before outer ones; try-with-resources
 * does so. Closing an outer scope also ends the scopes inside it. Closing a scope twice, or on
 * another thread, has no effect.
 */
public final class Scope implements AutoCloseable {
    /** A scope without effect. */
    static final Scope NONE = new Scope(0, 0);

    /**
     * The agent's numbers of the context and of the one around it; 0 means no context. Each number
     * has exactly one scope.
     */
    final int context;
    final int outer;

    Scope(int context, int outer) {
        this.context = context;
        this.outer = outer;
    }

    /**
     * Begins a context on the calling thread. Errors in the context's class must not reach the
     * program.
     */
    static Scope enter(Object context) {
        if (context == null) {
            return NONE;
        }
        // Without the agent, the program's classes would not be called here, so their exceptions
        // are caught.
        try {
            int outer = Agent.context(Agent.CELLS.get());
            Scope scope = NONE;
            try {
                scope = Kind.of(context).scope(context, outer);
            } finally {
                // The program's classes may have entered contexts meanwhile, and a virtual thread
                // then has returned the previous cell.
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

    /** Sets the thread back to the context that it had before. */
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
