package dev.vouch;

import java.nio.ByteBuffer;
import java.util.concurrent.Callable;
import java.util.concurrent.Executor;

/**
 * Work that is done for whom it was given, on whichever thread. (Classes with a name, so that a profile can show it.)
 */
final class Carried {
    private Carried() {}

    /** A task. */
    static final class Task implements Runnable {
        private final Runnable work;
        private final int context = now();

        Task(Runnable work) {
            this.work = work;
        }

        @Override
        public void run() {
            ByteBuffer cell = Agent.CELLS.get();
            int before = cell.getInt(0);
            cell.putInt(0, context);
            try {
                work.run();
            } finally {
                cell.putInt(0, before);
            }
        }
    }

    /** A task that something comes of. */
    static final class Call<T> implements Callable<T> {
        private final Callable<T> work;
        private final int context = now();

        Call(Callable<T> work) {
            this.work = work;
        }

        @Override
        public T call() throws Exception {
            ByteBuffer cell = Agent.CELLS.get();
            int before = cell.getInt(0);
            cell.putInt(0, context);
            try {
                return work.call();
            } finally {
                cell.putInt(0, before);
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

    private static int now() {
        return Agent.CELLS.get().getInt(0);
    }
}
