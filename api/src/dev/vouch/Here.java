package dev.vouch;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * The calling thread, as it does tasks: which groups it has entered, and its clocks.
 *
 * To ask the kernel for a thread's CPU time takes longer than most tasks. While a thread stays on
 * its processor its CPU time is what the clock says; and the kernel counts, in a page that the
 * thread can read, how often it was taken off. So it is asked once for each time that this has
 * happened, and never if not. Where there is no such page it is asked each time; a virtual thread
 * has no CPU time that anybody knows.
 *
 * What a thread keeps is of the JDK's classes alone: else it would keep this class loader, which an
 * application may have brought along. So it is no object of this class, which there would have to
 * be one of for each task.
 */
final class Here {
    /** Where in the page the kernel counts. */
    private static final int TAKEN_OFF = 8;
    private static final int TRIES = 3;
    /** In the place of sums that a thread has asked for and cannot have. */
    private static final ByteBuffer NONE = ByteBuffer.allocate(0);

    // What a thread keeps: itself, its page, the groups that it is in, its sums by the numbers of
    // groups, and these numbers.
    private static final int OWNER = 0;
    private static final int PAGE = 1;
    private static final int ENTERED = 2;
    private static final int SUMS = 3;
    private static final int NUMBERS = 4;

    /** Which turn of its event loop this is. */
    private static final int TURN = 0;
    // What both clocks were when the thread had been taken off so often.
    private static final int WALL_THEN = 1;
    private static final int CPU_THEN = 2;
    private static final int TIMES_TAKEN_OFF = 3;
    // What was seen last.
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
        // A virtual thread has no sums of its own.
        return new Object[] {owner, known ? Agent.switches() : null, new boolean[16], known ? new ByteBuffer[16] : null, numbers};
    }

    /** The calling thread. */
    static Object[] get() {
        return OF.get();
    }

    private static long[] numbers(Object[] here) {
        return (long[]) here[NUMBERS];
    }

    /** True if it is the calling thread. */
    static boolean isOwn(Object[] here) {
        return here[OWNER] == Thread.currentThread();
    }

    private static boolean[] entered(Object[] here) {
        return (boolean[]) here[ENTERED];
    }

    /** Enters a group; false if it is in there. */
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

    /** Where its tasks of this group are added up; null: not by itself. */
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
            // This once it is added up elsewhere.
            return NONE;
        }
    }

    /**
     * The calling thread's event loop handles another event: what it was about is not what it is
     * about now.
     */
    static void begin() {
        try {
            Object[] here = get();
            numbers(here)[TURN]++;
            Arrays.fill(entered(here), false);
        } catch (Throwable mistake) {
            // There is no memory left: whoever is in a group stays there.
        }
    }

    static long turn(Object[] here) {
        return numbers(here)[TURN];
    }

    /** Looks at both clocks. */
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
            // Both are of one moment, more or less.
            numbers[WALL_THEN] = begin + (end - begin) / 2;
            numbers[TIMES_TAKEN_OFF] = before;
            if (page == null || takenOff(page) == before) {
                break;
            }
            // It was taken off meanwhile: what was seen belongs to no time that it was on.
            numbers[TIMES_TAKEN_OFF] = -1;
        }
        numbers[WALL] = numbers[WALL_THEN];
        numbers[CPU] = numbers[CPU_THEN];
    }

    /**
     * How often the thread was taken off its processor. It is read where it stands here, neither
     * earlier nor later.
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

    /** Below nothing: nobody knows. */
    static long cpu(Object[] here) {
        return numbers(here)[CPU];
    }
}
