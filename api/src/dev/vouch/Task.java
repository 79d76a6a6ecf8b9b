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
    /** What {@link Here} knows of its thread. */
    private final Object[] here;
    private final long turn;
    private final long wall;
    /** Below nothing: that is not known. */
    private final long cpu;
    private boolean closed;

    private Task(Group group, Object[] here, long turn, long wall, long cpu) {
        this.group = group;
        this.here = here;
        this.turn = turn;
        this.wall = wall;
        this.cpu = cpu;
    }

    static Task begin(Group group) {
        // What cannot be measured, as where there is no memory left, costs the program nothing.
        Object[] here = null;
        boolean enters = false;
        int number = 0;
        try {
            here = Here.get();
            number = group.number();
            enters = Here.enter(here, number);
            if (!enters) {
                return NONE;
            }
            Here.look(here);
            return new Task(group, here, Here.turn(here), Here.wall(here), Here.cpu(here));
        } catch (Throwable mistake) {
            if (enters) {
                Here.leave(here, number);
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
        boolean isOfThisTurn = Here.turn(here) == turn;
        if (isOfThisTurn) {
            Here.leave(here, number);
        }
        closed = true;
        if (!isOfThisTurn || !Here.isOwn(here)) {
            Agent.abandon(number);
            return;
        }
        Here.look(here);
        long tookWall = Here.wall(here) - wall;
        long tookCpu = cpu < 0 || Here.cpu(here) < 0 ? -1 : Math.max(0, Math.min(Here.cpu(here) - cpu, tookWall));
        group.add(here, Here.wall(here), tookWall, tookCpu);
    }
}
