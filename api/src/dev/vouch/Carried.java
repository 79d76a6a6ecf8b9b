package dev.vouch;

import java.nio.ByteBuffer;
import java.util.concurrent.Callable;
import java.util.concurrent.Executor;

/**
 * Work that is done for whom it was given, on whichever thread. (Classes with a name, so that a profile can show it.)
 */
final class Carried {
    private final int context;
    private final int depth;
    /** None where the depth is 0. */
    private final long[] trace;

    private Carried(ByteBuffer cell) {
        context = Agent.context(cell);
        depth = Agent.depth(cell);
        trace = depth == 0 ? null : Agent.trace(cell);
    }

    /** For whom the calling thread works. */
    private static Carried now() {
        ByteBuffer cell = Agent.CELLS.get();
        Carried now = new Carried(cell);
        Agent.settle(cell);
        return now;
    }

    /** The calling thread goes on for them. */
    private void go() {
        ByteBuffer cell = Agent.CELLS.get();
        if (trace != null) {
            Agent.go(cell, depth, trace[0], trace[1], trace[2]);
        } else if (Agent.depth(cell) > 0) {
            leave(cell);
            // It may have been given back.
            cell = Agent.CELLS.get();
        }
        Agent.go(cell, context);
    }

    private static void leave(ByteBuffer cell) {
        Agent.go(cell, 0, 0, 0, 0);
    }

    /** A task. */
    static final class Task implements Runnable {
        private final Runnable work;
        private final Carried whom = now();

        Task(Runnable work) {
            this.work = work;
        }

        @Override
        public void run() {
            Carried before = now();
            whom.go();
            try {
                work.run();
            } finally {
                before.go();
            }
        }
    }

    /** A task that something comes of. */
    static final class Call<T> implements Callable<T> {
        private final Callable<T> work;
        private final Carried whom = now();

        Call(Callable<T> work) {
            this.work = work;
        }

        @Override
        public T call() throws Exception {
            Carried before = now();
            whom.go();
            try {
                return work.call();
            } finally {
                before.go();
            }
        }
    }

    /** Who does each task for whom it was given. */
    static final class Carrier implements Executor {
        private final Executor executor;

        Carrier(Executor executor) {
            this.executor = executor;
        }

        @Override
        public void execute(Runnable work) {
            executor.execute(Vouch.wrap(work));
        }
    }
}
