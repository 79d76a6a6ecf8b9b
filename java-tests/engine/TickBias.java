/*
 * An engine that samples at kernel ticks is biased within threads that sleep and wake often. It
 * sees some parts of their code more often than others. Polling is biased for threads that run for
 * some microseconds at a time. The summary must say so, also if such an engine replaced perf. For a
 * thread without pauses it must not say so.
 *
 * @test
 * @summary where an engine gives wrong shares within threads the profile says so
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main TickBias
 */

import java.util.Arrays;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;

import dev.vouch.test.Burn;
import dev.vouch.test.CCompiler;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Skip;
import dev.vouch.test.Vm;

public class TickBias {
    private static final String EPERM = "1";

    public static void main(String[] args) {
        for (String engine : new String[] {"timer", "itimer", "poll"}) {
            Check.contains(bias(with(engine), "hand"), "engine=" + engine, engine + " says that threads wait often");
        }
        for (String engine : new String[] {"timer", "poll"}) {
            Check.equal("", bias(with(engine), "work"), engine + " says so of a thread that works on");
        }
        Check.equal("", bias(with("perf"), "hand"), "perf says so");

        String refuse = CCompiler.program("refuse").toString();
        for (String[] processors : new String[][] {{"engine=poll"}, {"engine=timer", "taskset", "-c", "0"}}) {
            Vm refused = with("auto").launcher(Arrays.copyOfRange(processors, 1, processors.length))
                .launcher(refuse, EPERM, "perf_event_open");
            String bias = bias(refused, "hand");
            Check.contains(bias, processors[0], "auto says that threads wait often");
            Check.contains(bias, "but perf was not taken: ", "why it is not perf");
        }
        // Perf may use a quarter of these descriptors, and the threads that alternate start last.
        Vm few = with("perf").flags("-XX:+UseSerialGC").launcher("sh", "-c", "ulimit -n 160; exec \"$@\"", "sh");
        Check.contains(bias(few, "crowd"), "a timer for a perf event", "perf says that it has timers for threads that wait often");
    }

    private static Vm with(String engine) {
        return Vm.with("interval=1ms,engine=" + engine);
    }

    /** The line of the summary about a bias, or an empty string. */
    private static String bias(Vm vm, String what) {
        Run run = vm.run(Program.class, what);
        Skip.ifEngineRefused(run);
        run.ok();
        return String.join("", run.vouchLines().stream()
            .filter(line -> line.contains("threads that wait this often are biased")).toArray(String[]::new));
    }

    static class Program {
        public static void main(String[] args) throws Exception {
            if (args[0].equals("work")) {
                Burn.millis(500);
                return;
            }
            for (int idle = 0; args[0].equals("crowd") && idle < 60; idle++) {
                Thread thread = new Thread(LockSupport::park);
                thread.setDaemon(true);
                thread.start();
            }
            // A SynchronousQueue would not wait on one processor: up to JDK 17 it yields there.
            Semaphore ball = new Semaphore(0);
            Semaphore back = new Semaphore(0);
            AtomicBoolean over = new AtomicBoolean();
            Thread taker = new Thread(() -> {
                while (!over.get()) {
                    ball.acquireUninterruptibly();
                    back.release();
                }
            });
            taker.start();
            // Each thread waits for the other in every round.
            for (long end = System.nanoTime() + 700_000_000L; System.nanoTime() < end;) {
                for (int times = 0; times < 100; times++) {
                    ball.release();
                    back.acquireUninterruptibly();
                }
            }
            over.set(true);
            ball.release();
            taker.join();
        }
    }
}
