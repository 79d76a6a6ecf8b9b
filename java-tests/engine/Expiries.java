/*
 * What the kernel does for a profile: with engine=perf a timer expires for each sample. A timer that expires and does not
 * lead to a signal is a cost without a profile, and many of them are a machine that does nothing else: once there were
 * hundreds for each signal. The kernel counts them itself.
 *
 * @test
 * @summary hardly more timer interrupts than signals, also for many short threads
 * @key perf newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main Expiries
 */

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.concurrent.Semaphore;

import dev.vouch.test.Burn;
import dev.vouch.test.Cc;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Scale;
import dev.vouch.test.Skip;
import dev.vouch.test.Vm;

public class Expiries {
    private static final double MOST = 1.4;
    private static final double CONTROL = 1.5;
    private static final int THREADS = Scale.pick(500, 1_000);

    /** What the kernel counted for a process: expiries of high-resolution timers, signals delivered. */
    private static final class Counted {
        final double expiries;
        final double signals;

        Counted(double expiries, double signals) {
            this.expiries = expiries;
            this.signals = signals;
        }

        /** What there is more than in another process. */
        double ratioBeyond(Counted other) {
            double more = signals - other.signals;
            Check.atLeast(THREADS, more, "signals, which this is about");
            double ratio = (expiries - other.expiries) / more;
            System.out.printf("%.0f expiries beyond %.0f, %.0f signals beyond %.0f: %.2f%n", expiries, other.expiries, signals,
                other.signals, ratio);
            return ratio;
        }
    }

    private interface Launched {
        Run run(String... launcher);
    }

    public static void main(String[] args) throws IOException {
        // A program whose every fourth timer leads to a signal: without it the meter might be blind.
        String deaf = Cc.program("deaf").toString();
        Counted nothing = new Counted(0, 0);
        double control = counted(launcher -> Vm.without().launcher(with(launcher, deaf)).run(Idle.class)).ratioBeyond(nothing);
        Check.atLeast(CONTROL, control, "expiries for each signal of a program that is deaf most of the time");

        Counted without = counted(launcher -> Vm.without().launcher(launcher).run(Program.class));
        Counted with = counted(launcher -> {
            Run run = Vm.with("engine=perf,interval=1ms").launcher(launcher).run(Program.class);
            Skip.ifEngineRefused(run);
            return run;
        });
        Check.atMost(MOST, with.ratioBeyond(without), "expiries for each signal");
    }

    private static String[] with(String[] launcher, String command) {
        String[] all = Arrays.copyOf(launcher, launcher.length + 1);
        all[launcher.length] = command;
        return all;
    }

    private static Counted counted(Launched launched) throws IOException {
        Path counts = Paths.get("counts.txt").toAbsolutePath();
        Files.deleteIfExists(counts);
        String events = "timer:hrtimer_expire_entry,signal:signal_deliver";
        Run run = launched.run("perf", "stat", "-x", ";", "-o", counts.toString(), "-e", events, "--");
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

    /** As a server that makes a thread for each request. */
    static class Program {
        public static void main(String[] args) throws InterruptedException {
            Semaphore room = new Semaphore(8);
            for (int i = 0; i < THREADS; i++) {
                room.acquire();
                new Thread(() -> {
                    Burn.millis(5);
                    room.release();
                }).start();
            }
            room.acquire(8);
        }
    }
}
