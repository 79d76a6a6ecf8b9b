package dev.vouch.test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;

/**
 * Waits until the recording contains all that the program did so far. For programs that are killed.
 */
public final class AwaitRecording {
    private AwaitRecording() {}

    /**
     * Waits until the recording of another JVM, which keeps running, contains everything up to now.
     */
    public static void awaitAllIs(Path recording) throws IOException {
        untilGrownTwice(recording, 3_000, () -> LockSupport.parkNanos(10_000_000));
    }

    /** Burns CPU until the recording contains everything up to now. */
    public static void burnUntilAllIs(Path recording) throws IOException {
        untilGrownTwice(recording, 1_000, () -> Burn.millis(10));
    }

    /** The recording must grow twice: first by what was waiting, then by what came since. */
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
