/*
 * C creates threads: some attach to the JVM, call Java, detach and go on in C, and some never
 * attach. Media players, databases and game engines spend their time this way. The profile must
 * show both halves under the right name. The Java half has its stack, and the native half is time
 * outside of Java.
 *
 * @test
 * @summary threads that attach through JNI, and threads that do not, are sampled from first to last
 * @key threads
 * @library /lib
 * @build dev.vouch.test.*
 * @run main NativeThreads
 */

import java.nio.file.Path;

import dev.vouch.test.Burn;
import dev.vouch.test.CCompiler;
import dev.vouch.test.Check;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Track;
import dev.vouch.test.Vm;

public class NativeThreads {
    private static final int EACH_MS = 60;

    public static void main(String[] args) {
        Path library = CCompiler.library("natives");
        for (String engine : new String[] {"perf", "timer"}) {
            Run run = Vm.with("interval=1ms,engine=" + engine).run(Program.class, library.toString()).ok();
            for (String line : run.out) {
                String[] parts = line.split("=|\\+");
                sampled(run, parts[0], Long.parseLong(parts[1]) / 1e6, Long.parseLong(parts[2]) / 1e6);
            }
            Check.equal(6, run.out.size(), "threads, of " + run.out);
        }
    }

    private static void sampled(Run run, String name, double javaMs, double nativeMs) {
        Report.ThreadRow row = run.report().thread(name);
        double burnt = javaMs + nativeMs;
        Check.near(burnt, row.cpuMs, 0.03 * burnt + 2, "CPU time, as the thread knows it, of " + row);
        run.report().checkConserved(name);
        Track track = run.profile().track(name);
        if (javaMs == 0) {
            Check.equal(0, track.weightOf("NativeThreads$Program.burn"), "weight in Java of " + row);
        } else {
            track.checkRan("NativeThreads$Program.burn", javaMs);
        }
        if (nativeMs > 0) {
            track.checkRan(javaMs == 0 ? "[native]" : "[outside Java]", nativeMs);
        }
    }

    static class Program {
        public static void main(String[] args) {
            System.load(args[0]);
            start(EACH_MS);
            long[] times = new long[2];
            int index = 0;
            for (String name = join(index, times); name != null; name = join(++index, times)) {
                System.out.println(name + "=" + times[0] + "+" + times[1]);
            }
        }

        static native void start(int millis);

        static native String join(int index, long[] times);

        static void burn(int millis) {
            Burn.millis(millis);
        }
    }
}
