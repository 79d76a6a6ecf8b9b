package dev.vouch;

/**
 * For as long as it is open its thread does a task of a {@linkplain Group group}.
 *
 * <p>It is closed on the thread that opened it. Closed again it does nothing; on another thread it is given up.
 */
public final class Task implements AutoCloseable {
    /** Changes nothing: its group is entered already, or nobody counts. */
    static final Task NONE = new Task(null, null, 0, 0, 0);

    private final Group group;
    private final Here here;
    private final int turn;
    private final long wall;
    /** Below nothing: that is not known. */
    private final long cpu;
    private boolean closed;

    private Task(Group group, Here here, int turn, long wall, long cpu) {
        this.group = group;
        this.here = here;
        this.turn = turn;
        this.wall = wall;
        this.cpu = cpu;
    }

    static Task begin(Group group) {
        // What cannot be measured, as where there is no memory left, costs the program nothing.
        Here here = null;
        boolean enters = false;
        int number = 0;
        try {
            here = Here.get();
            number = group.number();
            enters = here.enter(number);
            if (!enters) {
                return NONE;
            }
            here.look();
            return new Task(group, here, here.turn(), here.wall(), here.cpu());
        } catch (Throwable mistake) {
            if (enters) {
                here.leave(number);
            }
            return NONE;
        }
    }

    /** The task has ended. */
    @Override
    public void close() {
        if (group == null || closed) {
            return;
        }
        try {
            end();
        } catch (Throwable mistake) {
            // It has no room to be counted.
        }
    }

    private void end() {
        int number = group.number();
        boolean isOfThisTurn = here.turn() == turn;
        if (isOfThisTurn) {
            here.leave(number);
        }
        closed = true;
        if (!isOfThisTurn || !here.isOwn()) {
            Agent.abandon(number);
            return;
        }
        here.look();
        long tookWall = here.wall() - wall;
        long tookCpu = cpu < 0 || here.cpu() < 0 ? -1 : Math.max(0, Math.min(here.cpu() - cpu, tookWall));
        group.add(here, here.wall(), tookWall, tookCpu);
    }
}
