/*
 * A class is redefined while one of its methods runs, and goes on running for long: so does a
 * program's main loop in which a Java agent puts what it wants to measure. The old version of the
 * method has no id any more that a stack walker could find. Once the JVM itself has been asked
 * about the thread it has one, so the time is shown under the method's name, all but the first
 * moment of it; till then the frame has no name, which refutes nothing.
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

import dev.vouch.test.Anew;
import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.JavaAgent;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.Track;
import dev.vouch.test.Vm;

public class RedefinedRunning {
    private static final String THREAD = "redefined";
    private static final String SPIN = "RedefinedRunning$Target.spin";
    private static final int OTHER = 78;
    /**
     * How long it goes on: longer where the moment until the JVM is asked is to be a small part of
     * it.
     */
    private static final String LONG_MS = "2000";
    private static final String SHORT_MS = "600";

    public static void main(String[] args) {
        String agent = JavaAgent.option(Program.class);
        String options = "threads=^" + THREAD + "$,refuted=keep,witness=";
        // As often as nothing: else a witness happens to be the one that asks.
        Run run = Vm.with(options + "1/s").flags(agent).run(Program.class, LONG_MS).ok();
        Check.contains(run.out, "redefined while it ran", "what the program says");
        Report report = run.report();
        Track track = run.profile().track(THREAD);
        notRefuted(report);
        // How long it takes until the JVM is asked is the machine's; usually it is a twentieth of
        // the run.
        Check.atLeast(0.7 * report.walked(), within(track.samples), "samples under the redefined method");

        // It is being asked that does it.
        Run without = Vm.with(options + "off").flags(agent).run(Program.class, SHORT_MS).ok();
        notRefuted(without.report());
        double redefinedMs = without.number("redefined") / 1e6;
        List<Sample> since = new ArrayList<>(without.profile().track(THREAD).samples);
        since.removeIf(sample -> sample.timeMs <= redefinedMs);
        Check.atLeast(1, since.size(), "the trigger: samples since it was redefined");
        Check.atMost(0.4 * since.size(), within(since), "of them, under its name if nobody asks the JVM");
    }

    /**
     * Where Vouch's own walker has no stack, which is seldom, AsyncGetCallTrace has: with no method
     * in that place, which may be anything.
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
            Class<?> type = new Anew(Target.class).load();
            Thread thread = new Thread((Runnable) type.getConstructor().newInstance(), THREAD);
            thread.start();
            RUNS.acquire();
            byte[] changed = Anew.bytecode(Target.class);
            Check.equal(1, Anew.renumber(changed, Target.NUMBER, OTHER), "numbers in the class file");
            jvm.redefineClasses(new ClassDefinition(type, changed));
            System.out.println("redefined=" + System.nanoTime());
            if (thread.isAlive()) {
                System.out.println("redefined while it ran");
            }
            thread.join();
        }
    }

    /** Another version has another number. */
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
