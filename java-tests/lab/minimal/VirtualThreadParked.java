/*
 * A virtual thread that has parked loses its own frames and gets its carrier's
 *
 * A virtual thread that was parked and continues has only its youngest frames on the stack. The
 * other frames are copied back when those return. Between the two is a return barrier. The walk
 * steps over the barrier into the carrier, as if the carrier had called the youngest frames.
 * Nothing in the result says that other frames exist.
 *
 * Seen in: VirtualThreads.parked VirtualThreads.parked-twice VirtualThreads.deep-parked
 * Seen in: VirtualThreads.slept VirtualThreads.yielded VirtualThreads.locked
 * Seen in: VirtualThreads.returned VirtualThreads.deep-partly-returned
 * Seen in: VirtualThreads.compiled-parked VirtualThreads.monitor VirtualThreads.waited
 * Shows: truncated and extra on 21-
 */

import dev.vouch.Oracle;

public class VirtualThreadParked {
    static void outer() throws InterruptedException {
        middle();
    }

    static void middle() throws InterruptedException {
        inner();
    }

    static void inner() throws InterruptedException {
        leaf();
    }

    static void leaf() throws InterruptedException {
        Thread.sleep(10);
        System.out.println(Oracle.self(100));
    }

    public static void main(String[] args) throws Exception {
        Thread thread = Thread.ofVirtual().start(() -> {
            try {
                outer();
            } catch (InterruptedException end) {
                throw new IllegalStateException(end);
            }
        });
        thread.join();
    }
}
