/*
 * A thread that is held at a safepoint is at another bci
 *
 * A compiled loop is stopped at its safepoint poll. The walk finds no usable anchor for the thread.
 * It follows the frames of the waiting C++ code to the compiled frame, and uses the debug
 * information of the instruction after the poll. That is another line of the source. In real
 * programs the walk also finds frames that have already returned, or lacks the youngest frame, or
 * gives up (not_walkable_not_Java). A waiting thread uses no processor. So a CPU profile seldom has
 * this failure; a wall-clock profile always has it.
 *
 * Seen in: LazyDeopt.spinning-thread LateAttach.old-spinning-thread
 * Seen in: Suspended.javac Suspended.server
 * Shows: wrong_bci on 17-
 * Run: -XX:-BackgroundCompilation
 */

import java.util.ArrayList;
import java.util.Collections;
import java.util.Random;

import dev.vouch.Oracle;

public class SafepointPoll {
    static volatile long sum;

    static void spin() {
        Random random = new Random();
        while (true) {
            sum += new ArrayList<>(Collections.nCopies(100, random.nextInt())).hashCode();
        }
    }

    public static void main(String[] args) throws Exception {
        Thread spinning = new Thread(SafepointPoll::spin, "spinning");
        spinning.setDaemon(true);
        spinning.start();
        Thread.sleep(3000);
        for (int i = 0; i < 1000; i++) {
            String difference = Oracle.difference(spinning, 100);
            if (difference != null && difference.contains("wrong_bci")) {
                System.out.println(difference);
                break;
            }
            Thread.sleep(1);
        }
    }
}
