/*
 * A virtual thread that has parked loses its own frames and gets its carrier's
 *
 * A virtual thread that goes on after it has been parked gets only its youngest frames back onto the stack; the others
 * follow when those return. Between the two stands a barrier. The walk steps over it into the carrier, as if the carrier
 * had called the youngest frames. Nothing in the answer says that there are others.
 *
 * Seen in: VirtualThreads.parked VirtualThreads.parked-twice VirtualThreads.deep-parked VirtualThreads.slept VirtualThreads.yielded VirtualThreads.locked VirtualThreads.returned VirtualThreads.deep-partly-returned VirtualThreads.compiled-parked VirtualThreads.monitor VirtualThreads.waited
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
