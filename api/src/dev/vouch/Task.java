package dev.vouch;

/**
 * A task of a {@linkplain Group group} that its thread does until the task is closed.
 *
 * <p>Close a task on the thread that opened it. Closing it twice has no effect. Closing it on
 * another thread abandons it: its times are not counted.
 */
public final class Task implements AutoCloseable {
    /** A task without effect: the thread is already in the group, or groups are not counted. */
    static final Task NONE = new Task(null, null, 0, 0, 0);

    private final Group group;
    /** The state of its thread, as {@link Here} has it. */
    private final Object[] here;
    private final long turn;
    private final long wall;
    /** Negative if the CPU time is unknown. */
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
        // A failure here, such as exhausted memory, must not reach the program.
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

    /** Ends the task. */
    @Override
    public void close() {
        if (group == null || closed) {
            return;
        }
        try {
            end();
        } catch (Throwable mistake) {
            // There is no memory to count it.
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
