package dev.vouch;

/**
 * A kind of events that the program reports: each happens at a point in time, or lasts for some
 * time.
 *
 * <pre>{@code
 * record Upload(String file, @Label(value = "Size", unit = Unit.BYTES) long size) {}
 *
 * static final Marker<Upload> UPLOAD = Vouch.marker(Upload.class);
 *
 * long began = UPLOAD.begin();
 * long size = send(file);
 * UPLOAD.commit(began, new Upload(file, size));
 * }</pre>
 *
 * The profile shows each kind in a separate row of the track of the thread that committed it. Times
 * are those of {@link System#nanoTime()}. Without a recording, nothing happens. No method here
 * throws or blocks.
 *
 * @param <T> the class of the details: a record, a class with {@link Label} fields, or any class
 * with a {@code toString()}
 */
public final class Marker<T> {
    private final MarkerClass type;
    private final boolean stack;

    Marker(Class<T> type) {
        this(new MarkerClass(type), false);
    }

    private Marker(MarkerClass type, boolean stack) {
        this.type = type;
        this.stack = stack;
    }

    /**
     * Returns the same kind, but each marker also records the stack of the thread that commits it.
     *
     * @return the kind with stacks; use it instead of this one
     */
    public Marker<T> withStack() {
        return new Marker<>(type, true);
    }

    /**
     * Checks if a recording runs. If not, the program can skip collecting the details.
     *
     * @return true while a recording runs
     */
    public boolean isWanted() {
        return Agent.here && Wanted.markers();
    }

    /**
     * Begins an event now.
     *
     * @return the time to pass to {@code commit}; 0 without a recording
     */
    public long begin() {
        return isWanted() ? System.nanoTime() : 0;
    }

    /**
     * Ends an event now, to be committed later.
     *
     * @return the time to pass to {@code commit}; 0 without a recording
     */
    public long end() {
        return begin();
    }

    /**
     * Reports an event that happens now.
     *
     * @param what the details; null reports nothing
     */
    public void commit(T what) {
        if (isWanted()) {
            long now = System.nanoTime();
            type.commit(now, now, what, stack);
        }
    }

    /**
     * Reports an event that ends now.
     *
     * @param began when it began; 0 reports nothing
     * @param what the details; null reports nothing
     */
    public void commit(long began, T what) {
        if (isWanted()) {
            type.commit(began, System.nanoTime(), what, stack);
        }
    }

    /**
     * Reports an event with its beginning and its end.
     *
     * @param began when it began; 0 reports nothing
     * @param ended when it ended; 0 reports nothing
     * @param what the details; null reports nothing
     */
    public void commit(long began, long ended, T what) {
        if (isWanted()) {
            type.commit(began, ended, what, stack);
        }
    }
}
