package dev.vouch.test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;

/**
 * For a program that is to be killed: when its recording has all that it did so far.
 */
public final class Written {
    private Written() {}

    /**
     * Waits until the recording of another JVM, which does not rest, has all that there is by now.
     */
    public static void awaitAllIs(Path recording) throws IOException {
        untilGrownTwice(recording, 3_000, () -> LockSupport.parkNanos(10_000_000));
    }

    /** Goes on until the recording has all that there is by now. */
    public static void burnUntilAllIs(Path recording) throws IOException {
        untilGrownTwice(recording, 1_000, () -> Burn.millis(10));
    }

    /** What could not be written comes first, and behind it at the latest what had come since. */
    private static void untilGrownTwice(Path recording, int most, Runnable meanwhile) throws IOException {
        for (int rounds = 0; rounds < 2; rounds++) {
            long before = Files.size(recording);
            for (int times = 0; times < most && Files.size(recording) == before; times++) {
                meanwhile.run();
            }
            if (Files.size(recording) == before) {
                System.out.println("nothing is written any more");
            }
        }
    }
}
