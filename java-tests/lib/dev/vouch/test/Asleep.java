package dev.vouch.test;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.stream.Collectors;

/**
 * Waits until threads sleep according to the kernel. The JVM reports a thread as blocked or waiting
 * a moment before the agent hears of it, and the kernel puts it to sleep even later. For programs
 * under test.
 */
public final class Asleep {
    private Asleep() {}

    /** The kernel's id of the calling thread. */
    public static String ownTid() {
        try {
            return Paths.get("/proc/thread-self").toRealPath().getFileName().toString();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /**
     * Waits until a thread of this process sleeps and stays asleep. A short wait for another lock
     * on the way does not count.
     */
    public static void await(String tid) throws InterruptedException {
        String before = "";
        for (String now = state(tid); !now.equals(before) || !now.startsWith("State:\tS"); now = state(tid)) {
            before = now;
            Thread.sleep(2);
        }
    }

    /** The thread's state, and how many times it went to sleep. */
    private static String state(String tid) {
        try {
            return Files.readAllLines(Paths.get("/proc/self/task", tid, "status"), StandardCharsets.UTF_8).stream()
                .filter(line -> line.startsWith("State:") || line.startsWith("voluntary_ctxt_switches:"))
                .collect(Collectors.joining("\n"));
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}
