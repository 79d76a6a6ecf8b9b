/*
 * The name of a native frame comes from the library that is in memory. A file that replaced the
 * library's on disk, a library that was at the address before, and code that a program makes there
 * have other names or none.
 *
 * @test
 * @summary native=on: a library that was replaced, reloaded or unloaded gives no wrong names
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main ReplacedLibrary
 */

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;

import dev.vouch.test.CCompiler;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Skip;
import dev.vouch.test.Vm;

public class ReplacedLibrary {
    private static final String ALPHA = "spinner.so!alpha_spin";
    private static final String GAMMA = "spinner.so!gamma_spin";
    private static final int MILLIS = 1000;

    public static void main(String[] args) {
        Run run = Vm.with("interval=1ms,native=on").flags("-Xmx64m")
            .run(Program.class, CCompiler.library("replaced").toString(), CCompiler.library("alpha").toString(), CCompiler.library("gamma").toString());
        Skip.ifEngineRefused(run);
        run.ok();

        // The kernel shows the replaced file only to privileged processes. Others have no name.
        expect(run, "replaced", with(run, "replaced", ALPHA) > 0 ? ALPHA : "spinner.so+", GAMMA);
        if (run.number("reloaded_at") == run.number("loaded_at")) {
            expect(run, "reloaded", GAMMA, ALPHA);
        }
        expect(run, "compiled", "[unknown code]", "spinner.so");
    }

    /** Most of a thread's time must be in a function, and none in another one. */
    private static void expect(Run run, String thread, String function, String never) {
        Check.equal(0L, with(run, thread, never), "samples of <" + never + "> in " + thread);
        Check.atLeast(0.7 * MILLIS, with(run, thread, function), "ms of <" + function + "> in " + thread);
    }

    private static long with(Run run, String thread, String beginning) {
        return run.profile().track(thread).samples.stream()
            .filter(sample -> sample.functions().stream().anyMatch(name -> name.startsWith(beginning)))
            .mapToLong(sample -> sample.weight).sum();
    }

    static class Program {
        private static volatile long sink;

        public static void main(String[] args) throws Exception {
            System.load(args[0]);
            Path library = Paths.get("spinner.so").toAbsolutePath();
            Files.copy(Paths.get(args[1]), library, StandardCopyOption.REPLACE_EXISTING);
            long loaded = load(library.toString());
            System.out.println("loaded_at=" + loaded);
            Path next = Files.copy(Paths.get(args[2]), Paths.get("next.so"), StandardCopyOption.REPLACE_EXISTING);
            Files.move(next, library, StandardCopyOption.ATOMIC_MOVE);
            burning("replaced");

            unload();
            long reloaded = load(library.toString());
            System.out.println("reloaded_at=" + reloaded);
            burning("reloaded");

            unload();
            if (compile(reloaded) != reloaded) {
                throw new AssertionError("no memory at the library's address");
            }
            burning("compiled");
        }

        private static void burning(String name) throws InterruptedException {
            Thread thread = new Thread(() -> sink += burn(MILLIS), name);
            thread.start();
            thread.join();
        }

        private static native long load(String path);

        private static native void unload();

        private static native long compile(long address);

        private static native long burn(int millis);
    }
}
