/*
 * Thousands of threads live for a fifth of an interval to five intervals. By chance each has a
 * sample or none. All threads of one length together must have the weight of their CPU time, as
 * exactly as `ShortLives` says. (Threads of five intervals take most of the time, so only the long
 * form has them. ShortThreads tests the same with a thousand of them.)
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
/*
 * @test id=poll
 * @summary poll: threads shorter than the interval are sampled in proportion to their time
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=400 BriefThreads poll
 */

import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.Semaphore;
import java.util.stream.Collectors;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Scale;
import dev.vouch.test.ShortLives;
import dev.vouch.test.Skip;
import dev.vouch.test.Vm;

public class BriefThreads {
    private static final int[] MICROS = Scale.isFull() ? new int[] {200, 500, 1_000, 2_000, 5_000} : new int[] {200, 500, 1_000, 2_000};
    private static final int OF_EACH = Scale.pick(400, 10_000);

    public static void main(String[] args) {
        Run run = Vm.with("interval=1ms,engine=" + args[0]).flags("-Xmx256m").timeout(Duration.ofSeconds(300))
            .run(Program.class, Integer.toString(OF_EACH));
        Skip.ifEngineRefused(run);
        run.ok();
        for (int micros : MICROS) {
            String name = "brief-" + micros + "-";
            String[] burnt = run.value(name + "ns").split(",");
            ShortLives lives = new ShortLives(run.report());
            for (Report.ThreadRow row : run.report().threads()) {
                if (row.name.startsWith(name)) {
                    lives.add(row, Long.parseLong(burnt[Integer.parseInt(row.name.substring(name.length()))]) / 1e6);
                }
            }
            String kind = "threads of " + micros + " us";
            Check.equal(OF_EACH, lives.count(), kind + " in the report");
            Check.atLeast(OF_EACH * micros / 1e3, lives.cpuMs(), "CPU time of the " + kind + ", in ms");
            lives.check(kind);
        }
    }

    static class Program {
        private static final Semaphore ROOM = new Semaphore(4);

        public static void main(String[] args) throws Exception {
            int each = Integer.parseInt(args[0]);
            long[][] burnt = new long[MICROS.length][each];
            for (int i = 0; i < each; i++) {
                for (int kind = 0; kind < MICROS.length; kind++) {
                    int micros = MICROS[kind];
                    long[] ofKind = burnt[kind];
                    int place = i;
                    ROOM.acquire();
                    new Thread(() -> {
                        ofKind[place] = burn(micros);
                        ROOM.release();
                    }, "brief-" + micros + "-" + i).start();
                }
            }
            ROOM.acquire(4);
            for (int kind = 0; kind < MICROS.length; kind++) {
                String all = Arrays.stream(burnt[kind]).mapToObj(Long::toString).collect(Collectors.joining(","));
                System.out.println("brief-" + MICROS[kind] + "-ns=" + all);
            }
        }

        /** Returns the CPU time that the thread took, in ns. */
        private static long burn(int micros) {
            long from = Burn.cpuNanos();
            long now = from;
            while (now < from + micros * 1_000) {
                Burn.sink += Burn.work(20_000);
                now = Burn.cpuNanos();
            }
            return now - from;
        }
    }
}
