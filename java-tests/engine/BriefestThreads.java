/*
 * Threads that end before a perf event could signal them begin with a timer, and those that outlive
 * it get their event. All of them must have the weight of their CPU time: no interval is lost or
 * counted twice when an event replaces a timer. `ShortLives` says how near.
 *
 * @test
 * @summary perf: threads that begin with a timer are sampled in proportion to their time
 * @key newest lts
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=200 BriefestThreads
 */

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Collectors;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.ShortLives;
import dev.vouch.test.Skip;
import dev.vouch.test.Vm;

public class BriefestThreads {
    private static final int BRIEFEST = 1_500;
    private static final int[] MICROS = {500, 5_000, 50_000};
    private static final int[] OF_EACH = {400, 120, 24};
    private static final int LONG_MS = 1_000;
    /** Threads that end before this much CPU time have no signal of a perf event. */
    private static final double FLOOR_MS = 0.25;

    public static void main(String[] args) {
        Run run = Vm.with("interval=1ms,engine=perf").flags("-Xmx256m").timeout(Duration.ofSeconds(150)).run(Program.class);
        Skip.ifEngineRefused(run);
        Report report = run.ok().report();
        ShortLives briefest = new ShortLives(report);
        double brief = 0;
        for (Report.ThreadRow row : report.threads()) {
            if (row.name.equals("briefest")) {
                briefest.add(row, 0);
                brief += row.cpuMs < FLOOR_MS ? row.cpuMs : 0;
            }
        }
        Check.equal(BRIEFEST, briefest.count(), "briefest threads in the report");
        Skip.unless(brief > 0.95 * briefest.cpuMs(), "threads that do nothing need too long here");
        briefest.check("briefest threads");
        String note = report.engineNotes().stream().filter(each -> each.contains("began with a timer")).findFirst().orElse("");
        long timers = note.isEmpty() ? 0 : Long.parseLong(note.substring(0, note.indexOf(' ')).replace(",", ""));
        int waiting = Arrays.stream(OF_EACH).sum() + 1;
        Check.atLeast(BRIEFEST / 2 + waiting, timers, "the trigger: threads that began with a timer");
        for (int micros : MICROS) {
            String name = "burst-" + micros + "-";
            String[] burnt = run.value(name + "ns").split(",");
            ShortLives lives = new ShortLives(report);
            for (Report.ThreadRow row : report.threads()) {
                if (row.name.startsWith(name)) {
                    lives.add(row, Long.parseLong(burnt[Integer.parseInt(row.name.substring(name.length()))]) / 1e6);
                }
            }
            lives.check("threads of " + micros + " us");
        }
        // A timer alone would take a sample at each tick of the kernel, which is 4 ms at 250 Hz.
        Report.ThreadRow row = report.thread("long");
        report.checkConserved(row);
        double signals = row.cpuMs * 1e3 / report.sampledIntervalUs();
        Check.atLeast(0.7 * signals, row.samples, "samples of the thread that outlived its timer");
    }

    static class Program {
        public static void main(String[] args) throws Exception {
            for (int i = 0; i < BRIEFEST; i++) {
                Thread thread = new Thread(() -> {}, "briefest");
                thread.start();
                thread.join();
            }
            // All start before the first of them ends, so that each begins with a timer.
            CountDownLatch go = new CountDownLatch(1);
            List<Thread> threads = new ArrayList<>();
            long[][] burnt = new long[MICROS.length][];
            for (int kind = 0; kind < MICROS.length; kind++) {
                int micros = MICROS[kind];
                long[] ofKind = new long[OF_EACH[kind]];
                burnt[kind] = ofKind;
                for (int i = 0; i < ofKind.length; i++) {
                    int index = i;
                    threads.add(new Thread(() -> {
                        await(go);
                        ofKind[index] = burn(micros * 1_000L);
                    }, "burst-" + micros + "-" + i));
                }
            }
            threads.add(new Thread(() -> {
                await(go);
                burn(LONG_MS * 1_000_000L);
            }, "long"));
            threads.forEach(Thread::start);
            go.countDown();
            for (Thread thread : threads) {
                thread.join();
            }
            for (int kind = 0; kind < MICROS.length; kind++) {
                System.out.println("burst-" + MICROS[kind] + "-ns="
                    + Arrays.stream(burnt[kind]).mapToObj(Long::toString).collect(Collectors.joining(",")));
            }
        }

        private static void await(CountDownLatch latch) {
            try {
                latch.await();
            } catch (InterruptedException error) {
                throw new AssertionError(error);
            }
        }

        private static long burn(long nanos) {
            long from = Burn.cpuNanos();
            while (Burn.cpuNanos() < from + nanos) {
                Burn.sink += Burn.work(200);
            }
            return Burn.cpuNanos() - from;
        }
    }
}
