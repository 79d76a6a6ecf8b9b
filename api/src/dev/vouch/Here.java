package dev.vouch;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * The calling thread's state for counting tasks: the groups that it has entered, and its clocks.
 *
 * Reading a thread's CPU time from the kernel takes longer than most tasks. While a thread stays on
 * its processor, its CPU time advances as fast as {@code System.nanoTime()}. The kernel counts in a
 * page, which the thread can read, how often it switched the thread out. So the CPU time is read
 * only after such a switch. Without that page it is read each time. The CPU time of virtual threads
 * is unknown.
 *
 * A thread-local value may refer only to classes of the JDK. Otherwise it would keep this class
 * loader alive, which can belong to an application. So the state is an {@code Object[]}.
 */
final class Here {
    /** The offset of the kernel's counter in the page. */
    private static final int TAKEN_OFF = 8;
    private static final int TRIES = 3;
    /** Marks a group for which the thread asked for sums and got none. */
    private static final ByteBuffer NONE = ByteBuffer.allocate(0);

    // Indices of a thread's state: the thread, its page, the groups that it is in, its sums by
    // group number, and its numbers.
    private static final int OWNER = 0;
    private static final int PAGE = 1;
    private static final int ENTERED = 2;
    private static final int SUMS = 3;
    private static final int NUMBERS = 4;

    /** Indices of the numbers. This one counts turns of the thread's event loop. */
    private static final int TURN = 0;
    // Both clocks at the last reading of the CPU time, and the counter of switches then.
    private static final int WALL_THEN = 1;
    private static final int CPU_THEN = 2;
    private static final int TIMES_TAKEN_OFF = 3;
    // Both clocks at the last look.
    private static final int WALL = 4;
    private static final int CPU = 5;

    private static final ThreadLocal<Object[]> OF = ThreadLocal.withInitial(Here::keep);

    private Here() {}

    private static Object[] keep() {
        Thread owner = Thread.currentThread();
        boolean known = !Kind.isVirtual(owner);
        long[] numbers = new long[CPU + 1];
        numbers[TIMES_TAKEN_OFF] = -1;
        numbers[CPU] = -1;
        // Virtual threads have no separate sums.
        return new Object[] {owner, known ? Agent.switches() : null, new boolean[16], known ? new ByteBuffer[16] : null, numbers};
    }

    /** Returns the calling thread's state. */
    static Object[] get() {
        return OF.get();
    }

    private static long[] numbers(Object[] here) {
        return (long[]) here[NUMBERS];
    }

    /** True if the state belongs to the calling thread. */
    static boolean isOwn(Object[] here) {
        return here[OWNER] == Thread.currentThread();
    }

    private static boolean[] entered(Object[] here) {
        return (boolean[]) here[ENTERED];
    }

    /** Enters a group; false if the thread is already in it. */
    static boolean enter(Object[] here, int group) {
        boolean[] entered = entered(here);
        if (group >= entered.length) {
            entered = Arrays.copyOf(entered, Integer.highestOneBit(group) * 2);
            here[ENTERED] = entered;
        }
        boolean enters = !entered[group];
        entered[group] = true;
        return enters;
    }

    static void leave(Object[] here, int group) {
        entered(here)[group] = false;
    }

    /** Returns the thread's sums of a group; null if the agent adds up its tasks. */
    static ByteBuffer sums(Object[] here, int group) {
        ByteBuffer[] sums = (ByteBuffer[]) here[SUMS];
        if (sums == null) {
            return null;
        }
        ByteBuffer found = group < sums.length ? sums[group] : null;
        if (found == null) {
            found = ask(here, sums, group);
        }
        return found.capacity() == 0 ? null : found;
    }

    private static ByteBuffer ask(Object[] here, ByteBuffer[] sums, int group) {
        try {
            ByteBuffer[] wide = group < sums.length ? sums : Arrays.copyOf(sums, Integer.highestOneBit(group) * 2);
            ByteBuffer given = Sums.inOrder(Agent.sums(group));
            wide[group] = given == null ? NONE : given;
            here[SUMS] = wide;
            return wide[group];
        } catch (OutOfMemoryError full) {
            // The agent adds up this task.
            return NONE;
        }
    }

    /** Begins the next event of the calling thread's event loop: the thread leaves all groups. */
    static void begin() {
        try {
            Object[] here = get();
            numbers(here)[TURN]++;
            Arrays.fill(entered(here), false);
        } catch (Throwable mistake) {
            // There is no memory left, so the thread stays in its groups.
        }
    }

    static long turn(Object[] here) {
        return numbers(here)[TURN];
    }

    /** Reads both clocks. */
    static void look(Object[] here) {
        long[] numbers = numbers(here);
        ByteBuffer page = (ByteBuffer) here[PAGE];
        if (here[SUMS] == null) {
            numbers[WALL] = System.nanoTime();
            return;
        }
        if (page != null) {
            int before = takenOff(page);
            long now = System.nanoTime();
            if (before == numbers[TIMES_TAKEN_OFF] && takenOff(page) == before) {
                numbers[WALL] = now;
                numbers[CPU] = numbers[CPU_THEN] + (now - numbers[WALL_THEN]);
                return;
            }
        }
        ask(numbers, page);
    }

    private static void ask(long[] numbers, ByteBuffer page) {
        for (int tries = 0; tries < TRIES; tries++) {
            int before = page == null ? 0 : takenOff(page);
            long begin = System.nanoTime();
            numbers[CPU_THEN] = Agent.cpu();
            long end = System.nanoTime();
            // The middle of the call is close to the moment at which the kernel read the CPU time.
            numbers[WALL_THEN] = begin + (end - begin) / 2;
            numbers[TIMES_TAKEN_OFF] = before;
            if (page == null || takenOff(page) == before) {
                break;
            }
            // The kernel switched the thread out meanwhile, so the two clocks do not belong
            // together.
            numbers[TIMES_TAKEN_OFF] = -1;
        }
        numbers[WALL] = numbers[WALL_THEN];
        numbers[CPU] = numbers[CPU_THEN];
    }

    /**
     * Returns how often the kernel has switched the thread out. The volatile reads keep the
     * compiler from moving the read.
     */
    private static int takenOff(ByteBuffer page) {
        @SuppressWarnings("unused")
        boolean before = Agent.here;
        int count = page.getInt(TAKEN_OFF) & Integer.MAX_VALUE;
        @SuppressWarnings("unused")
        boolean behind = Agent.here;
        return count;
    }

    static long wall(Object[] here) {
        return numbers(here)[WALL];
    }

    /** Returns the CPU time; negative if it is unknown. */
    static long cpu(Object[] here) {
        return numbers(here)[CPU];
    }
}
