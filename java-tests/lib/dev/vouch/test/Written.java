package dev.vouch.test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * For a program that is to be killed: when its recording has all that it did so far.
 */
public final class Written {
    private Written() {}

    /** Waits until the recording of another JVM, which does not rest, has all that there is by now. */
    public static void awaitAllIs(Path recording) throws IOException, InterruptedException {
        for (int rounds = 0; rounds < 2; rounds++) {
            long before = Files.size(recording);
            for (int times = 0; times < 3_000 && Files.size(recording) == before; times++) {
                Thread.sleep(10);
            }
        }
    }

    /** Goes on until the recording has grown twice: what could not be written comes first, and behind it at the latest what had come since. */
    public static void burnUntilAllIs(Path recording) throws IOException {
        for (int rounds = 0; rounds < 2; rounds++) {
            long before = Files.size(recording);
            for (int times = 0; times < 1_000 && Files.size(recording) == before; times++) {
                Burn.millis(10);
            }
            if (Files.size(recording) == before) {
                System.out.println("nothing is written any more");
            }
        }
    }
}
