/*
 * A class is redefined while one of its methods runs for long. A Java agent that instruments a
 * program's main loop does that.
 *
 * The method's old version has no jmethodID that a stack walker could find. It gets one once
 * GetStackTrace has walked the thread. So the time appears under the method's name, except for the
 * first moment. Until then the frame has no name, which refutes nothing.
 *
 * @test
 * @summary time in a method that was redefined while it ran is shown under its name
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=200 RedefinedRunning
 */

import java.lang.instrument.ClassDefinition;
import java.lang.instrument.Instrumentation;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.JavaAgent;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.SelfDefiningLoader;
import dev.vouch.test.Track;
import dev.vouch.test.Vm;

public class RedefinedRunning {
    private static final String THREAD = "redefined";
    private static final String SPIN = "RedefinedRunning$Target.spin";
    private static final int OTHER = 78;
    /** The run's CPU time. A longer run keeps the time before GetStackTrace a small part. */
    private static final String LONG_MS = "2000";
    private static final String SHORT_MS = "600";

    public static void main(String[] args) {
        String agent = JavaAgent.option(Program.class);
        String options = "threads=^" + THREAD + "$,refuted=keep,witness=";
        // The rate is minimal, because otherwise a regular witness could create the id by chance.
        Run run = Vm.with(options + "1/s").flags(agent).run(Program.class, LONG_MS).ok();
        Check.contains(run.out, "redefined while it ran", "what the program says");
        Report report = run.report();
        Track track = run.profile().track(THREAD);
        notRefuted(report);
        // The delay before GetStackTrace depends on the machine. It is usually 5 % of the run.
        Check.atLeast(0.7 * report.walked(), within(track.samples), "samples under the redefined method");

        // Without a witness the method gets no id.
        Run without = Vm.with(options + "off").flags(agent).run(Program.class, SHORT_MS).ok();
        notRefuted(without.report());
        double redefinedMs = without.number("redefined") / 1e6;
        List<Sample> since = new ArrayList<>(without.profile().track(THREAD).samples);
        since.removeIf(sample -> sample.timeMs <= redefinedMs);
        Check.atLeast(1, since.size(), "the trigger: samples since it was redefined");
        Check.atMost(0.4 * since.size(), within(since), "of them, under its name if nobody asks the JVM");
    }

    /**
     * Checks refutations. Our own walker rarely lacks a stack. AsyncGetCallTrace's stack then has
     * no method in that frame, which may be any method.
     */
    private static void notRefuted(Report report) {
        long others = report.walkedBy("asgct");
        Check.atMost(0.01 * report.walked(), others, "stacks that AsyncGetCallTrace alone has");
        Check.atMost(others, report.samples("refuted"), "samples that are refuted since the JVM has no id for a method");
    }

    private static long within(List<Sample> samples) {
        return samples.stream().filter(sample -> sample.has(SPIN)).count();
    }

    public static class Program {
        public static final Semaphore RUNS = new Semaphore(0);
        private static Instrumentation jvm;
        public static int ms;

        public static void premain(String options, Instrumentation all) {
            jvm = all;
        }

        public static void main(String[] args) throws Exception {
            ms = Integer.parseInt(args[0]);
            Class<?> type = new SelfDefiningLoader(Target.class).load();
            Thread thread = new Thread((Runnable) type.getConstructor().newInstance(), THREAD);
            thread.start();
            RUNS.acquire();
            byte[] changed = SelfDefiningLoader.bytecode(Target.class);
            Check.equal(1, SelfDefiningLoader.renumber(changed, Target.NUMBER, OTHER), "numbers in the class file");
            jvm.redefineClasses(new ClassDefinition(type, changed));
            System.out.println("redefined=" + System.nanoTime());
            if (thread.isAlive()) {
                System.out.println("redefined while it ran");
            }
            thread.join();
        }
    }

    /** Each version of the class contains a different number. */
    public static class Target implements Runnable {
        static final byte NUMBER = 77;

        @Override
        public void run() {
            spin();
        }

        static void spin() {
            int number = NUMBER;
            Burn.sink += number;
            Program.RUNS.release();
            Burn.millis(Program.ms);
        }
    }
}
