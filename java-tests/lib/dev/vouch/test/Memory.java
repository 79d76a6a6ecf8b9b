package dev.vouch.test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Paths;

/**
 * The memory of a process, as the kernel counts it.
 */
public final class Memory {
    private Memory() {}

    /**
     * A figure of the process that asks, by its name, in KiB: VmRSS is what it has now, VmHWM the
     * most that it had.
     */
    public static long kib(String name) throws IOException {
        return kib(name, "self");
    }

    /** The same of another one. */
    public static long kib(String name, String pid) throws IOException {
        String line = Files.readAllLines(Paths.get("/proc", pid, "status")).stream()
            .filter(each -> each.startsWith(name + ":")).findFirst().get();
        return Long.parseLong(line.replaceAll("\\D", ""));
    }
}
