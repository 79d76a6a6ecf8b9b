/*
 * An application is deployed anew: its library is unloaded, and the next one is loaded at the same
 * address. Threads of the new library must be sampled from their first instruction on. Otherwise
 * short ones would be missed, and nothing would show that.
 *
 * @test
 * @summary short threads are sampled if their library is at the address of an unloaded one
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main ReloadedLibrary
 */

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;

import dev.vouch.test.CCompiler;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Skip;
import dev.vouch.test.Vm;

public class ReloadedLibrary {
    private static final int THREADS = 60;
    private static final long MS = 15;

    public static void main(String[] args) throws IOException {
        Path first = CCompiler.library("starts");
        Path second = Paths.get("").toAbsolutePath().resolve("libagain.so");
        Files.copy(first, second, StandardCopyOption.REPLACE_EXISTING);
        String reload = CCompiler.library("reload").toString();
        Run run;
        int tries = 0;
        // The test needs both libraries at one address, but only the linker chooses addresses.
        do {
            run = Vm.with("interval=1ms").flags("-Xmx64m").run(Program.class, reload, first.toString(), second.toString()).ok();
            tries++;
        } while (!isSame(run) && tries < 5);
        Skip.unless(isSame(run), "the second library lies elsewhere than the first one did");
        double sampled = run.report().threads().stream().filter(thread -> thread.name.equals("java") && thread.cpuMs >= MS)
            .mapToDouble(thread -> thread.sampledMs).sum();
        Check.atLeast(0.9 * THREADS * MS, sampled, "ms of the second library's threads");
    }

    private static boolean isSame(Run run) {
        return run.value("first").equals(run.value("second"));
    }

    static class Program {
        public static void main(String[] args) {
            System.load(args[0]);
            System.out.println("first=" + run(args[1], 1, MS));
            System.out.println("second=" + run(args[2], THREADS, MS));
        }

        static native long run(String library, int threads, long millis);
    }
}
