package dev.vouch.test;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.stream.Collectors;

/**
 * Threads that sleep by the kernel's account. The JVM calls a thread blocked or waiting a moment
 * before it tells an agent, and the kernel has it asleep only after that. For programs under test.
 */
public final class Asleep {
    private Asleep() {}

    /** The kernel's number of the calling thread. */
    public static String ownTid() {
        try {
            return Paths.get("/proc/thread-self").toRealPath().getFileName().toString();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /**
     * Waits until a thread of this process sleeps, and goes on sleeping: the wait for some lock on
     * its way is over soon.
     */
    public static void await(String tid) throws InterruptedException {
        String before = "";
        for (String now = state(tid); !now.equals(before) || !now.startsWith("State:\tS"); now = state(tid)) {
            before = now;
            Thread.sleep(2);
        }
    }

    /** Its state, and how often it has gone to sleep. */
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
