/*
 * Thousands of threads that live for a fifth of an interval to five intervals. Each is a sample or none, by chance; all
 * of one kind together must have the weight that their CPU time asks for. What that is worth is reckoned from the
 * threads themselves: a thread that ran for n intervals and a part f has n samples or n + 1, whose variance is f(1 - f).
 *
 * @test id=perf
 * @summary perf: threads shorter than the interval are sampled in proportion to their time
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=400 BriefThreads perf
 */
/*
 * @test id=timer
 * @summary timer: threads shorter than the interval are sampled in proportion to their time
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=400 BriefThreads timer
 */

import java.time.Duration;
import java.util.concurrent.Semaphore;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Scale;
import dev.vouch.test.Skip;
import dev.vouch.test.Vm;

public class BriefThreads {
    private static final int[] MICROS = {200, 500, 1_000, 2_000, 5_000};
    private static final int OF_EACH = Scale.pick(400, 10_000);
    /** What no engine sees: each thread's farewell, after its last sample, in intervals. */
    private static final double FAREWELL = 0.1;

    public static void main(String[] args) {
        Run run = Vm.with("interval=1ms,engine=" + args[0]).flags("-Xmx256m").timeout(Duration.ofSeconds(300))
            .run(Program.class, Integer.toString(OF_EACH));
        Skip.ifEngineRefused(run);
        run.ok();
        for (int micros : MICROS) {
            int threads = 0;
            double expected = 0;
            double variance = 0;
            double sampled = 0;
            for (Report.ThreadRow row : run.report().threads()) {
                if (row.name.startsWith("brief-" + micros + "-")) {
                    double part = row.cpuMs - Math.floor(row.cpuMs);
                    threads++;
                    expected += row.cpuMs;
                    variance += part * (1 - part);
                    sampled += row.sampledMs;
                }
            }
            String kind = "threads of " + micros + " us";
            System.out.printf("%s: %d, %.1f ms of CPU, sampled %.0f ms, deviation %.1f%n", kind, threads, expected, sampled,
                Math.sqrt(variance));
            Check.equal(OF_EACH, threads, kind + " in the report");
            Check.atLeast(OF_EACH * micros / 1e3, expected, "CPU time of the " + kind + ", in ms");
            double chance = Check.FAR * Math.sqrt(variance);
            Check.between(expected - FAREWELL * OF_EACH - chance, sampled, expected + chance, "sampled time of the " + kind + ", in ms");
        }
    }

    static class Program {
        private static final Semaphore ROOM = new Semaphore(4);

        public static void main(String[] args) throws Exception {
            int each = Integer.parseInt(args[0]);
            for (int i = 0; i < each; i++) {
                for (int micros : MICROS) {
                    ROOM.acquire();
                    new Thread(() -> {
                        burn(micros);
                        ROOM.release();
                    }, "brief-" + micros + "-" + i).start();
                }
            }
            ROOM.acquire(4);
        }

        private static void burn(int micros) {
            for (long until = Burn.cpuNanos() + micros * 1_000; Burn.cpuNanos() < until;) {
                Burn.sink += Burn.work(20_000);
            }
        }
    }
}
