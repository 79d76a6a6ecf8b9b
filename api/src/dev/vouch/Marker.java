package dev.vouch;

/**
 * A kind of what a program tells of itself: something that happened at a time, or went on from a
 * time to a time.
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
 * In the profile it stands in a row of its own on the track of the thread that has committed it.
 * Times are of the clock of {@link System#nanoTime()}. Where no recording runs nothing happens.
 * Nothing here throws, or waits for anybody.
 *
 * @param <T> what each says: a record, a class whose fields have a {@link Label}, or anything else by its {@code toString()}
 */
public final class Marker<T> {
    private final Told told;
    private final boolean stack;

    Marker(Class<T> type) {
        this(new Told(type), false);
    }

    private Marker(Told told, boolean stack) {
        this.told = told;
        this.stack = stack;
    }

    /**
     * The same kind, with the stack of the thread that commits.
     *
     * @return the kind, to be used in the place of this one
     */
    public Marker<T> withStack() {
        return new Marker<>(told, true);
    }

    /**
     * Whether anybody wants to be told. What it takes to say something need not be done otherwise.
     *
     * @return true while a recording runs
     */
    public boolean isWanted() {
        return Agent.here && Wanted.markers();
    }

    /**
     * Something begins now.
     *
     * @return the time, to be committed with; 0 if nobody wants to be told
     */
    public long begin() {
        return isWanted() ? System.nanoTime() : 0;
    }

    /**
     * It has ended now, and is to be committed later.
     *
     * @return the time, to be committed with; 0 if nobody wants to be told
     */
    public long end() {
        return begin();
    }

    /**
     * Tells of something that happens now.
     *
     * @param what all that there is to say of it; null says nothing
     */
    public void commit(T what) {
        if (isWanted()) {
            long now = System.nanoTime();
            told.commit(now, now, what, stack);
        }
    }

    /**
     * Tells of something that has gone on until now.
     *
     * @param began when it began; 0, as if nobody wanted to be told then, says nothing
     * @param what all that there is to say of it; null says nothing
     */
    public void commit(long began, T what) {
        if (isWanted()) {
            told.commit(began, System.nanoTime(), what, stack);
        }
    }

    /**
     * Tells of something that went on from a time to a time.
     *
     * @param began when it began; 0, as if nobody wanted to be told then, says nothing
     * @param ended when it ended; 0 says nothing
     * @param what all that there is to say of it; null says nothing
     */
    public void commit(long began, long ended, T what) {
        if (isWanted()) {
            told.commit(began, ended, what, stack);
        }
    }
}
