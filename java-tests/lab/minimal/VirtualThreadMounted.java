/*
 * A virtual thread's stack continues into its carrier's
 *
 * For GetStackTrace, the stack of a virtual thread that has never unmounted ends where its
 * continuation was entered. The walk continues through `enterSpecial` into the frames of the
 * carrier, a thread that runs another task.
 *
 * Seen in: VirtualThreads.never-parked VirtualThreads.executor VirtualThreads.structured
 * Seen in: VirtualThreads.compiled VirtualThreads.deep-never-parked
 * Seen in: VirtualThreads.pinned-by-native VirtualThreads.carrier-pinned
 * Shows: extra on 21-
 */

import dev.vouch.Oracle;

public class VirtualThreadMounted {
    public static void main(String[] args) throws Exception {
        Thread thread = Thread.ofVirtual().start(() -> System.out.println(Oracle.self(100)));
        thread.join();
    }
}
