package dev.vouch;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * A thread that does tasks: which groups it has entered, and its clocks.
 *
 * To ask the kernel for a thread's CPU time takes longer than most tasks. While a thread stays on its processor its CPU time is what the
 * clock says; and the kernel counts, in a page that the thread can read, how often it was taken off. So it is asked once for each time
 * that this has happened, and never if not. Where there is no such page it is asked each time; a virtual thread has no CPU time that
 * anybody knows.
 */
final class Here {
    /** Where in the page the kernel counts. */
    private static final int TAKEN_OFF = 8;
    private static final int TRIES = 3;
    /** In the place of sums that a thread has asked for and cannot have. */
    private static final ByteBuffer NONE = ByteBuffer.allocate(0);

    private static final ThreadLocal<Here> OF = ThreadLocal.withInitial(Here::new);

    private final Thread owner = Thread.currentThread();
    private final boolean known = !Kind.isVirtual(owner);
    private final ByteBuffer page = known ? Agent.switches() : null;
    private boolean[] entered = new boolean[16];
    /** By the numbers of groups, once it was asked for them. */
    private ByteBuffer[] sums = new ByteBuffer[16];
    /** Which turn of its event loop this is. */
    private int turn;

    /** What both clocks were when the thread had been taken off so often. */
    private long wallThen;
    private long cpuThen;
    private int takenOff = -1;

    /** What was seen last. */
    private long wall;
    private long cpu = -1;

    private Here() {}

    /** The calling thread. */
    static Here get() {
        return OF.get();
    }

    /** True if it is the calling thread. */
    boolean isOwn() {
        return owner == Thread.currentThread();
    }

    /** Enters a group; false if it is in there. */
    boolean enter(int group) {
        if (group >= entered.length) {
            entered = Arrays.copyOf(entered, Integer.highestOneBit(group) * 2);
        }
        boolean enters = !entered[group];
        entered[group] = true;
        return enters;
    }

    void leave(int group) {
        entered[group] = false;
    }

    /** Where its tasks of this group are added up; null: not by itself. */
    ByteBuffer sums(int group) {
        if (!known) {
            return null;
        }
        ByteBuffer found = group < sums.length ? sums[group] : null;
        if (found == null) {
            found = ask(group);
        }
        return found == NONE ? null : found;
    }

    private ByteBuffer ask(int group) {
        try {
            if (group >= sums.length) {
                sums = Arrays.copyOf(sums, Integer.highestOneBit(group) * 2);
            }
            ByteBuffer given = Sums.inOrder(Agent.sums(group));
            return sums[group] = given == null ? NONE : given;
        } catch (OutOfMemoryError full) {
            // This once it is added up elsewhere.
            return NONE;
        }
    }

    /** The calling thread's event loop handles another event: what it was about is not what it is about now. */
    static void begin() {
        try {
            Here here = OF.get();
            here.turn++;
            Arrays.fill(here.entered, false);
        } catch (Throwable mistake) {
            // There is no memory left: whoever is in a group stays there.
        }
    }

    int turn() {
        return turn;
    }

    /** Looks at both clocks. */
    void look() {
        if (!known) {
            wall = System.nanoTime();
            return;
        }
        if (page != null) {
            int before = takenOff();
            long now = System.nanoTime();
            if (before == takenOff && takenOff() == before) {
                wall = now;
                cpu = cpuThen + (now - wallThen);
                return;
            }
        }
        ask();
    }

    private void ask() {
        for (int tries = 0; tries < TRIES; tries++) {
            int before = page == null ? 0 : takenOff();
            long begin = System.nanoTime();
            cpuThen = Agent.cpu();
            long end = System.nanoTime();
            // Both are of one moment, more or less.
            wallThen = begin + (end - begin) / 2;
            takenOff = before;
            if (page == null || takenOff() == before) {
                break;
            }
            // It was taken off meanwhile: what was seen belongs to no time that it was on.
            takenOff = before + 1;
        }
        wall = wallThen;
        cpu = cpuThen;
    }

    /** How often the thread was taken off its processor. It is read where it stands here, neither earlier nor later. */
    private int takenOff() {
        @SuppressWarnings("unused")
        boolean before = Agent.here;
        int count = page.getInt(TAKEN_OFF);
        @SuppressWarnings("unused")
        boolean behind = Agent.here;
        return count;
    }

    long wall() {
        return wall;
    }

    /** Below nothing: nobody knows. */
    long cpu() {
        return cpu;
    }
}
