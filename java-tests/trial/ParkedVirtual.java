/*
 * A virtual thread goes on after it has parked: its outer frames are in the heap until it returns
 * to them. AsyncGetCallTrace goes on with the carrier's frames; async-profiler's own walker ends.
 *
 * From: 21
 */

public class ParkedVirtual {
    static int sink;

    static void work(long ms) {
        for (long end = System.nanoTime() + ms * 1_000_000; System.nanoTime() < end;) {
            sink += 3;
        }
    }

    public static void main(String[] args) throws Exception {
        Thread.ofVirtual().start(() -> {
            work(200);
            try {
                Thread.sleep(1);
            } catch (InterruptedException end) {
                throw new IllegalStateException(end);
            }
            work(2_000);
        }).join();
    }
}
