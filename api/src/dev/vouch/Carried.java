package dev.vouch;

import java.util.concurrent.Callable;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadFactory;

/**
 * Work that runs in the context and trace of the thread that submitted it. These classes have names
 * so that a profile can show them.
 */
final class Carried {
    private Carried() {}

    /** A {@code Runnable} with its submitter's context and trace. */
    static final class Task implements Runnable {
        private final Runnable work;
        private final int context = Agent.now();
        private final long[] trace = Trace.now();

        Task(Runnable work) {
            this.work = work;
        }

        @Override
        public void run() {
            int before = Agent.now();
            Trace there = Trace.carry(trace);
            try {
                Agent.carry(context);
                work.run();
            } finally {
                there.close();
                Agent.go(before);
            }
        }
    }

    /** A {@code Callable} with its submitter's context and trace. */
    static final class Call<T> implements Callable<T> {
        private final Callable<T> work;
        private final int context = Agent.now();
        private final long[] trace = Trace.now();

        Call(Callable<T> work) {
            this.work = work;
        }

        @Override
        public T call() throws Exception {
            int before = Agent.now();
            Trace there = Trace.carry(trace);
            try {
                Agent.carry(context);
                return work.call();
            } finally {
                there.close();
                Agent.go(before);
            }
        }
    }

    /** An executor that runs each task in its submitter's context and trace. */
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

    /** A factory of threads that start in their creator's context and trace. */
    static final class Forker implements ThreadFactory {
        private final ThreadFactory threads;

        Forker(ThreadFactory threads) {
            this.threads = threads;
        }

        @Override
        public Thread newThread(Runnable work) {
            return threads.newThread(Vouch.wrap(work));
        }
    }
}
