/*
 * Perf events are expensive for threads that alternate all the time: each switch stops one event
 * and starts the next. Without interval=, the agent replaces them by timers after the first ten
 * seconds of CPU time. Here it is the first second: lab=early-budget. The weights still add up to
 * all CPU time, and later threads get timers too.
 *
 * @test
 * @summary without interval= timers sample threads that switch all the time, and the report says so
 * @key perf newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=300 Relief
 */

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Mark;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Skip;
import dev.vouch.test.Vm;

public class Relief {
    private static final int PAIRS = 2;
    /**
     * A tenth of this is many times the time that a thread may lack at its end, which is one tick.
     */
    private static final long LATE_MS = 500;
    private static final long PATIENCE_MS = 100;
    /** The test fails if the timers have not come by then. */
    private static final long MOST_S = 120;

    public static void main(String[] args) {
        Run run = Vm.lab("lab=early-budget").flags("-Xmx128m").timeout(Duration.ofSeconds(MOST_S + 60)).run(Program.class);
        Skip.ifEngineRefused(run);
        run.ok();
        Report report = run.report();
        Skip.unless(report.engine().equals("perf"), "engine=auto takes " + report.engine() + " here: there are no events to relieve a program of");
        List<Mark> marks = run.profile().marks("vouch_relieved");
        Check.equal(1, marks.size(), "the trigger: times that timers took the place of events, with the notes " + report.engineNotes());
        Check.equal(true, report.engineNotes().stream().anyMatch(Relief::isOfSwitches), "told among " + report.engineNotes());
        Check.equal(true, run.out.contains("events in the end: 0"), "without events in the end: " + run.out);
        report.checkConserved(2 * PAIRS + 1);
        Report.ThreadRow late = report.threads().stream().filter(row -> row.name.equals("late")).findFirst().get();
        Check.atLeast(LATE_MS, late.cpuMs, "CPU time of a thread that began later, in ms");
        Check.between(0.9 * late.cpuMs, late.sampledMs, 1.1 * late.cpuMs, "what is sampled of it, in ms");
        double relieved = marks.get(0).startMs;
        double after = run.profile().samples().stream().filter(sample -> sample.timeMs > relieved).mapToDouble(sample -> sample.weight).sum();
        Check.atLeast(0.9 * LATE_MS, after * report.intervalUs() / 1e3, "CPU time that is sampled after it, in ms");
    }

    private static boolean isOfSwitches(String note) {
        return note.startsWith("sampling by timers from here on: ");
    }

    static class Program {
        private static volatile boolean over;

        public static void main(String[] args) throws Exception {
            for (int i = 0; i < PAIRS; i++) {
                Integer number = i;
                SynchronousQueue<Integer> queue = new SynchronousQueue<>();
                start("give-" + i, () -> {
                    while (!over) {
                        Burn.sink += Burn.work(2_000);
                        queue.offer(number, PATIENCE_MS, TimeUnit.MILLISECONDS);
                    }
                });
                start("take-" + i, () -> {
                    while (!over) {
                        queue.poll(PATIENCE_MS, TimeUnit.MILLISECONDS);
                        Burn.sink += Burn.work(2_000);
                    }
                });
            }
            long until = System.nanoTime() + MOST_S * 1_000_000_000;
            while (events() > 0 && System.nanoTime() < until) {
                Thread.sleep(PATIENCE_MS);
            }
            Thread late = start("late", () -> {
                long end = Burn.cpuNanos() + LATE_MS * 1_000_000;
                while (Burn.cpuNanos() < end) {
                    Burn.sink += Burn.work(20_000);
                }
            });
            late.join();
            over = true;
            System.out.println("events in the end: " + events());
        }

        private interface Work {
            void run() throws Exception;
        }

        private static Thread start(String name, Work work) {
            Thread thread = new Thread(() -> {
                try {
                    work.run();
                } catch (Exception error) {
                    throw new IllegalStateException(error);
                }
            }, name);
            thread.start();
            return thread;
        }

        /** How many perf events the process has open. */
        private static int events() throws IOException {
            int count = 0;
            try (DirectoryStream<Path> open = Files.newDirectoryStream(Paths.get("/proc/self/fd"))) {
                for (Path descriptor : open) {
                    try {
                        count += Files.readSymbolicLink(descriptor).toString().contains("[perf_event]") ? 1 : 0;
                    } catch (IOException closed) {
                        // The listing itself or another thread has closed this descriptor.
                    }
                }
            }
            return count;
        }
    }
}
