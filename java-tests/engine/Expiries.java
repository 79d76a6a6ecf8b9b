/*
 * With engine=perf a kernel timer expires for each sample. A timer that expires without a signal
 * costs time and adds nothing to the profile. Once there were hundreds of these for each signal,
 * and the machine did little else. The kernel counts the expiries of its perf events, which run
 * only while their own thread does. So no other program's expiries are counted.
 *
 * @test
 * @summary hardly more timer interrupts than signals, also for many short threads
 * @key perf newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main Expiries
 */

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.concurrent.Semaphore;
import java.util.stream.Stream;

import dev.vouch.test.Burn;
import dev.vouch.test.CCompiler;
import dev.vouch.test.Check;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Scale;
import dev.vouch.test.Skip;
import dev.vouch.test.Vm;

public class Expiries {
    private static final double MOST = 1.4;
    private static final double CONTROL = 1.5;
    /**
     * The agent measures the cost of a timer with a few timers that send no signal. They expire
     * some hundreds of times at worst.
     */
    private static final int MEASURED = 2_000;
    private static final int THREADS = Scale.pick(300, 1_000);
    private static final int EACH_MS = 5;
    /**
     * How many signals the control program waits for: twenty rounds of it, all with the same share
     * of blocked time.
     */
    private static final int SIGNALS = 80;
    /** The kernel function that runs when the timer of a CPU-clock perf event expires. */
    private static final String FUNCTION = "perf_swevent_hrtimer";
    private static final int SIGPROF = 27;

    /**
     * What the kernel counted for a process: expiries of perf events' timers, and delivered
     * SIGPROFs.
     */
    private static final class Counted {
        final double expiries;
        final double signals;

        Counted(double expiries, double signals) {
            this.expiries = expiries;
            this.signals = signals;
        }

        double ratio(double leastSignals) {
            System.out.printf("%.0f expiries, %.0f signals: %.2f%n", expiries, signals, expiries / signals);
            Check.atLeast(leastSignals, signals, "signals, which this is about");
            return expiries / signals;
        }
    }

    private interface Launched {
        Run run(String... launcher);
    }

    public static void main(String[] args) throws IOException {
        String function = address();
        // A system-wide profiler has a perf event on each processor, which expires in any program
        // that runs there.
        Counted without = counted(function, launcher -> Vm.without().launcher(launcher).run(Idle.class));
        Skip.unless(without.expiries == 0, "somebody's perf events expire in every program here: " + without.expiries + " in an idle JVM");
        // In the control program, one expiry in seven leads to a signal. If the ratio did not show
        // this, the measurement would be worthless.
        String deaf = CCompiler.program("deaf").toString();
        Counted control = counted(function, launcher -> Vm.without().launcher(with(launcher, deaf)).run(Idle.class));
        Check.atLeast(CONTROL, control.ratio(SIGNALS), "expiries for each signal of a program that is deaf most of the time");

        Report[] report = new Report[1];
        Counted with = counted(function, launcher -> {
            Run run = Vm.with("engine=perf,interval=1ms").launcher(launcher).run(Program.class);
            Skip.ifEngineRefused(run);
            report[0] = run.ok().report();
            return run;
        });
        double due = report[0].signalsIn(THREADS * EACH_MS);
        Skip.unless(due >= 3 * THREADS, "the machine affords no more than " + due + " signals for " + THREADS + " threads");
        // A fifth of the due signals is enough here: other tests check the rate of an engine.
        with.ratio(due / 5);
        Check.atMost(MOST * with.signals + MEASURED, with.expiries, "expiries for so many signals");
    }

    /** The address of the function in the kernel. */
    private static String address() throws IOException {
        try (Stream<String> lines = Files.lines(Paths.get("/proc/kallsyms"), StandardCharsets.UTF_8)) {
            String line = lines.filter(each -> each.endsWith(" " + FUNCTION)).findFirst().orElse("0 t none");
            String address = line.substring(0, line.indexOf(' '));
            Skip.unless(!address.matches("0+"), "the kernel does not tell where its " + FUNCTION + " is: /proc/kallsyms");
            return "0x" + address;
        }
    }

    private static String[] with(String[] launcher, String command) {
        String[] all = Arrays.copyOf(launcher, launcher.length + 1);
        all[launcher.length] = command;
        return all;
    }

    private static Counted counted(String function, Launched launched) throws IOException {
        Path counts = Paths.get("counts.txt").toAbsolutePath();
        Files.deleteIfExists(counts);
        Run run = launched.run("perf", "stat", "-x", ";", "-o", counts.toString(),
            "-e", "timer:hrtimer_expire_entry", "--filter", "function == " + function,
            "-e", "signal:signal_deliver", "--filter", "sig == " + SIGPROF, "--");
        Skip.unless(run.exit == 0 && Files.exists(counts), "perf may not count timers here: " + run.err);
        double[] numbers = new double[2];
        int found = 0;
        for (String line : Files.readAllLines(counts)) {
            if (line.matches("[0-9]+;.*")) {
                numbers[found++] = Double.parseDouble(line.substring(0, line.indexOf(';')));
            }
        }
        Skip.unless(found == 2, "perf may not count timers here: " + Files.readAllLines(counts));
        return new Counted(numbers[0], numbers[1]);
    }

    static class Idle {
        public static void main(String[] args) {}
    }

    /** Simulates a server that starts a thread for each request. */
    static class Program {
        public static void main(String[] args) throws InterruptedException {
            Semaphore room = new Semaphore(8);
            for (int i = 0; i < THREADS; i++) {
                room.acquire();
                new Thread(() -> {
                    Burn.millis(EACH_MS);
                    room.release();
                }).start();
            }
            room.acquire(8);
        }
    }
}
