package dev.vouch;

import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadFactory;
import java.util.function.LongConsumer;

/**
 * Tells the profiler Vouch whose work a thread does, and what else a program has to say of itself.
 *
 * <pre>{@code
 * record Request(String user, String action, String file) {}
 *
 * try (Scope scope = Vouch.with(new Request("moe", "store", name))) {
 *     store(name);
 * }
 * }</pre>
 *
 * Each sample that is taken of the thread inside of the block carries the context, and those that
 * it is nested in. Where the agent is not loaded a call does nothing, and the JIT removes it; an
 * agent that is attached later is found.
 *
 * <p>A context is any object whose class says what there is to know of it:
 * <ul>
 * <li>a record: each component;
 * <li>a class with fields that have a {@link Label}: these;
 * <li>anything else, as a string or an enum's constant: its {@code toString()}.
 * </ul>
 * It must not change while it is in use. Two that are {@linkplain Object#equals equal} are one. A
 * class that leaves {@code equals} as it is gets compared by what it says, which takes longer.
 *
 * <p>Nothing here throws, but for what is null or out of bounds, or waits for anybody.
 */
public final class Vouch {
    private Vouch() {}

    /**
     * From here on the calling thread works for {@code context}, inside of what it worked for
     * before, until the scope is closed.
     *
     * <p>Contexts that are more than the agent keeps apart (65,536, with what they are nested in) are left out: samples then carry
     * what is around them, and the report says how often that was.
     *
     * @param context what the work is for; null changes nothing
     * @return what ends it, on the same thread
     */
    public static Scope with(Object context) {
        return Agent.here ? Scope.enter(context) : Scope.NONE;
    }

    /**
     * From here on the calling thread works in a trace, inside of the one that it worked in before,
     * until that is closed: samples carry both ids, and the contexts that the thread is in besides.
     *
     * <p>Nothing of it is kept before a sample meets it, so each request may have its own; of those 65,536 are told apart in a recording. They
     * nest 64 deep.
     *
     * @param traceId the trace's id, 32 hexadecimal digits; none but zeros is in no trace, whatever is around; what is no id changes nothing
     * @param spanId the span's, 16 of them
     * @return what ends it, on the same thread
     */
    public static Trace trace(String traceId, String spanId) {
        return Agent.here ? Trace.enter(traceId, spanId) : Trace.NONE;
    }

    /**
     * The same, of ids as they come in the W3C's header.
     *
     * @param traceparent as in {@code 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01}; what is none changes nothing
     * @return what ends it, on the same thread
     */
    public static Trace trace(String traceparent) {
        return Agent.here ? Trace.enter(traceparent) : Trace.NONE;
    }

    /**
     * The same, of ids as numbers.
     *
     * @param high the first half of the trace's id
     * @param low the second half of it
     * @param span the span's
     * @return what ends it, on the same thread
     */
    public static Trace trace(long high, long low, long span) {
        return Agent.here ? Trace.enter(high, low, span) : Trace.NONE;
    }

    /**
     * The group of tasks of this name, to be kept in a constant, or asked for again.
     *
     * @param name how it is called; 4,096 are told apart, and what is more is one group
     * @return the group
     */
    public static Group group(String name) {
        return Group.of(Objects.requireNonNull(name));
    }

    /**
     * The calling thread's event loop handles another event. Tasks that are open on it are given
     * up: what a nested loop takes is not theirs. An event loop calls this before each event; one
     * that is never entered inside of a task need not.
     */
    public static void nextEvent() {
        if (Agent.here && Wanted.groups()) {
            Here.begin();
        }
    }

    /**
     * What all groups have taken while they were counted: during recordings, and from when somebody
     * first asks. Two of these, at a beginning and at an end, {@linkplain Snapshot#since tell} what
     * was between.
     *
     * @return the figures; none where the agent is not loaded
     */
    public static Snapshot snapshot() {
        return Snapshot.take();
    }

    /**
     * Has somebody told when a group has so many tasks that take so long within so many seconds.
     *
     * @param group whose tasks
     * @param tasks so many of them, at least one
     * @param millis which took so long, at least one millisecond
     * @param seconds within so many, at least one
     * @param listener is told how many nanoseconds the last of them took, once in that time, on a thread of Vouch's
     * @return what ends it
     */
    public static Jank onJank(Group group, int tasks, long millis, long seconds, LongConsumer listener) {
        Objects.requireNonNull(listener);
        if (tasks < 1 || millis < 1 || seconds < 1 || tasks > 1_000_000 || Math.max(millis, seconds) > 1_000_000) {
            throw new IllegalArgumentException("each of these is from one to a million: " + tasks + ", " + millis + ", " + seconds);
        }
        return Jank.watch(Objects.requireNonNull(group), tasks, millis, seconds, listener);
    }

    /**
     * A kind of what the program tells of itself, to be kept in a constant.
     *
     * @param <T> what each of them says
     * @param type its class
     * @return the kind
     */
    public static <T> Marker<T> marker(Class<T> type) {
        return new Marker<>(Objects.requireNonNull(type));
    }

    /**
     * The same work, to be done by another thread for whom the calling thread works now.
     *
     * @param work what is to be done
     * @return what does it in the present context and trace, and then takes its thread back to where that was
     */
    public static Runnable wrap(Runnable work) {
        Objects.requireNonNull(work);
        return Agent.here ? new Carried.Task(work) : work;
    }

    /**
     * The same work, to be done by another thread for whom the calling thread works now.
     *
     * @param <T> what comes of it
     * @param work what is to be done
     * @return what does it in the present context and trace, and then takes its thread back to where that was
     */
    public static <T> Callable<T> wrap(Callable<T> work) {
        Objects.requireNonNull(work);
        return Agent.here ? new Carried.Call<>(work) : work;
    }

    /**
     * An executor that does each task for whom the thread worked that gave it. A {@code
     * CompletableFuture} whose stages are given to it carries the context along. (It gives wrapped
     * tasks on: an executor that looks at its tasks, as one that sorts them, is to be given such as
     * were wrapped before.)
     *
     * @param executor who does the work
     * @return the same, with contexts
     */
    public static Executor wrap(Executor executor) {
        return new Carried.Carrier(Objects.requireNonNull(executor));
    }

    /**
     * Threads that do their work for whom the thread worked that had them made: the forks of a
     * {@code StructuredTaskScope}, as they inherit its {@code ScopedValue}s, or the tasks of an
     * executor that has a thread for each.
     *
     * @param threads who makes them
     * @return the same, with contexts
     */
    public static ThreadFactory wrapThreads(ThreadFactory threads) {
        return new Carried.Forker(Objects.requireNonNull(threads));
    }
}
