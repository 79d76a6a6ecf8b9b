/*
 * Threads that come from C: some attach to the JVM, call Java, detach and go on in C; some never attach. They are
 * where media players, databases and game engines spend their time, and a profile must show both halves under the
 * right name: the Java half with its stack, the native half as time outside of Java.
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
import dev.vouch.test.Cc;
import dev.vouch.test.Check;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Track;
import dev.vouch.test.Vm;

public class NativeThreads {
    private static final int EACH_MS = 60;

    public static void main(String[] args) {
        Path library = Cc.library("natives");
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
        Check.near(burnt, row.sampledMs, 0.05 * burnt + 4, "sampled time of " + row);
        // A timer is looked at when the kernel ticks: which half the last tick's time goes to is chance.
        double tolerance = 0.1 * burnt + (run.report().engine().equals("timer") ? 12 : 3);
        Track track = run.profile().track(name);
        long java = track.weightOf("NativeThreads$Program.burn") + track.samples.stream()
            .filter(sample -> sample.leaf().category.equals("No stack")).mapToLong(sample -> sample.weight).sum();
        Check.near(javaMs, java, javaMs == 0 ? 0 : tolerance, "weight in Java of " + row);
        Check.near(nativeMs, track.weight() - java, tolerance, "weight outside of Java of " + row);
        Check.atLeast(0.5 * javaMs, track.weightOf("NativeThreads$Program.burn"), "weight with a stack of " + row);
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
