package dev.vouch.test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Paths;

/** Reads the memory use of a process from the kernel. */
public final class Memory {
    private Memory() {}

    /**
     * A value of this process in KiB, by the kernel's name: VmRSS is the current size, VmHWM the
     * largest so far.
     */
    public static long kib(String name) throws IOException {
        return kib(name, "self");
    }

    /** A value of another process in KiB. */
    public static long kib(String name, String pid) throws IOException {
        String line = Files.readAllLines(Paths.get("/proc", pid, "status")).stream()
            .filter(each -> each.startsWith(name + ":")).findFirst().get();
        return Long.parseLong(line.replaceAll("\\D", ""));
    }
}
