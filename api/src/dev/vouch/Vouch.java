package dev.vouch;

import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadFactory;
import java.util.function.LongConsumer;

/**
 * Attaches contexts, traces, task groups and markers of the program to the samples of the profiler
 * Vouch.
 *
 * <pre>{@code
 * record Request(String user, String action, String file) {}
 *
 * try (Scope scope = Vouch.with(new Request("moe", "store", name))) {
 *     store(name);
 * }
 * }</pre>
 *
 * Each sample of the thread inside the block carries the context, and the contexts around it.
 * Without the agent a call does nothing, and the JIT compiler removes it. An agent that is attached
 * later is found.
 *
 * <p>A context is any object. The profile shows:
 * <ul>
 * <li>of a record: each component;
 * <li>of a class with fields that have a {@link Label}: these fields;
 * <li>of any other class, such as a string or an enum: its {@code toString()}.
 * </ul>
 * A context must not change while it is in use. Contexts that are {@linkplain Object#equals equal}
 * are the same. Contexts of a class without its own {@code equals} are compared by what the profile
 * shows of them, which takes longer.
 *
 * <p>No method here blocks. Methods throw only for an argument that must not be null, or that is
 * out of bounds.
 */
public final class Vouch {
    private Vouch() {}

    /**
     * Begins a context on the calling thread, inside the thread's current context, until the scope
     * is closed.
     *
     * <p>The agent keeps at most 65,536 contexts, counted with the contexts around them. Further
     * ones are left out: samples then carry the context around them, and the report counts how
     * often that happened.
     *
     * @param context the context; null has no effect
     * @return the scope; close it on the same thread
     */
    public static Scope with(Object context) {
        return Agent.here ? Scope.enter(context) : Scope.NONE;
    }

    /**
     * Begins a trace on the calling thread, inside the thread's current trace, until it is closed.
     * Samples carry both ids, and also the thread's contexts.
     *
     * <p>A trace is stored only when a sample is taken in it, so each request may have its own. A
     * recording stores at most 65,536 traces. They nest 64 deep.
     *
     * @param traceId the trace's id, 32 hexadecimal digits; only zeros leave any trace; an invalid
     * id has no effect
     * @param spanId the span's id, 16 hexadecimal digits
     * @return the trace; close it on the same thread
     */
    public static Trace trace(String traceId, String spanId) {
        return Agent.here ? Trace.enter(traceId, spanId) : Trace.NONE;
    }

    /**
     * Begins a trace by a W3C header.
     *
     * @param traceparent as in {@code 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01}; an
     * invalid header has no effect
     * @return the trace; close it on the same thread
     */
    public static Trace trace(String traceparent) {
        return Agent.here ? Trace.enter(traceparent) : Trace.NONE;
    }

    /**
     * Begins a trace by ids that are numbers.
     *
     * @param high the first half of the trace's id
     * @param low the second half of the trace's id
     * @param span the span's id
     * @return the trace; close it on the same thread
     */
    public static Trace trace(long high, long low, long span) {
        return Agent.here ? Trace.enter(high, low, span) : Trace.NONE;
    }

    /**
     * Returns the group of this name. Keep it in a constant, or call this method again.
     *
     * @param name the group's name; after 4,096 groups, all further names share one group
     * @return the group
     */
    public static Group group(String name) {
        return Group.of(Objects.requireNonNull(name));
    }

    /**
     * Marks that the calling thread's event loop begins another event. Tasks that are open on the
     * thread are abandoned, so a nested event loop's time is not added to them. Call this before
     * each event if the event loop can be entered inside a task.
     */
    public static void nextEvent() {
        if (Agent.here && Wanted.groups()) {
            Here.begin();
        }
    }

    /**
     * Takes a snapshot of all groups' counts and times. Groups are counted during recordings, and
     * from the first snapshot on. {@link Snapshot#since} subtracts an earlier snapshot.
     *
     * @return the snapshot; it is empty without the agent
     */
    public static Snapshot snapshot() {
        return Snapshot.take();
    }

    /**
     * Calls a listener when a group has too many long tasks: {@code tasks} tasks of {@code millis}
     * or more within {@code seconds}.
     *
     * @param group the group to watch
     * @param tasks the number of long tasks, at least one
     * @param millis how long such a task takes at least, in milliseconds, at least one
     * @param seconds the period, in seconds, at least one
     * @param listener receives the last long task's nanoseconds, at most once per period, on a
     * thread of Vouch's
     * @return what stops the watching when it is closed
     */
    public static Jank onJank(Group group, int tasks, long millis, long seconds, LongConsumer listener) {
        Objects.requireNonNull(listener);
        if (tasks < 1 || millis < 1 || seconds < 1 || tasks > 1_000_000 || Math.max(millis, seconds) > 1_000_000) {
            throw new IllegalArgumentException(
                "tasks, millis and seconds must each be from 1 to 1,000,000: " + tasks + ", " + millis + ", " + seconds);
        }
        return Jank.watch(Objects.requireNonNull(group), tasks, millis, seconds, listener);
    }

    /**
     * Creates a kind of markers. Keep it in a constant.
     *
     * @param <T> the class of the details
     * @param type the class of the details
     * @return the kind of markers
     */
    public static <T> Marker<T> marker(Class<T> type) {
        return new Marker<>(Objects.requireNonNull(type));
    }

    /**
     * Wraps a task, so that it runs on any thread in the calling thread's present context and
     * trace.
     *
     * @param work the task
     * @return the wrapped task; afterwards its thread has its previous context and trace again
     */
    public static Runnable wrap(Runnable work) {
        Objects.requireNonNull(work);
        return Agent.here ? new Carried.Task(work) : work;
    }

    /**
     * Wraps a task, so that it runs on any thread in the calling thread's present context and
     * trace.
     *
     * @param <T> the task's result
     * @param work the task
     * @return the wrapped task; afterwards its thread has its previous context and trace again
     */
    public static <T> Callable<T> wrap(Callable<T> work) {
        Objects.requireNonNull(work);
        return Agent.here ? new Carried.Call<>(work) : work;
    }

    /**
     * Wraps an executor, so that each task runs in the context and trace of the thread that
     * submitted it. A {@code CompletableFuture} carries the context through the stages that run on
     * it. The executor receives wrapped tasks. If it inspects its tasks, for example to sort them,
     * wrap the tasks instead.
     *
     * @param executor the executor that runs the tasks
     * @return the executor with contexts
     */
    public static Executor wrap(Executor executor) {
        return new Carried.Carrier(Objects.requireNonNull(executor));
    }

    /**
     * Wraps a thread factory, so that each thread starts in the context and trace of the thread
     * that created it. Use it for the forks of a {@code StructuredTaskScope}, or for an executor
     * with a thread for each task.
     *
     * @param threads the factory that creates the threads
     * @return the factory with contexts
     */
    public static ThreadFactory wrapThreads(ThreadFactory threads) {
        return new Carried.Forker(Objects.requireNonNull(threads));
    }
}
