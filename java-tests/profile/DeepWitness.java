/*
 * Compares stacks of hundreds of thousands of frames with GetStackTrace as often as possible. The
 * thread is stopped for each GetStackTrace, and the JVM allocates memory for each frame, so not
 * every sample may be compared. Otherwise the program would take several times as long and as much
 * memory, and the waiting agent would lose nearly all samples.
 *
 * @test
 * @summary the witness costs no more for a thread with a very deep stack
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=200 DeepWitness
 */

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Memory;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.Vm;

public class DeepWitness {
    private static final int ROUNDS = 50;
    private static final int DEPTH = 300_000;
    /** The memory of the thread's stack, the JVM, and the walks that are kept. */
    private static final long MOST_KIB = 700 << 10;

    public static void main(String[] args) {
        Run run = Vm.with("interval=1ms,witness=1000/s").flags("-Xmx256m").run(Program.class).ok();
        Report report = run.report();
        Check.equal(0L, report.samples("dropped"), "samples without room");
        report.checkConserved("deep");
        long deep = 0;
        for (Sample sample : run.profile().track("deep").samples) {
            deep += sample.functions().contains("[frames left out]") ? 1 : 0;
        }
        Check.that(deep > 0, "the trigger: no stack was so deep that it was cut");
        // GetStackTrace takes some KiB for each frame while it runs.
        Check.atMost(MOST_KIB, run.number("most_kib"), "KiB of memory");
        long asked = report.json.getAsJsonObject("witness").get("asked").getAsLong();
        Check.that(asked > 0, "nobody was asked");
    }

    static class Program {
        /** Works at the bottom, long enough to be sampled there. */
        private static int down(int depth) {
            if (depth == 0) {
                return (int) Burn.millis(20);
            }
            return down(depth - 1) + 1;
        }

        public static void main(String[] args) throws Exception {
            Burn.millis(1);
            Thread thread = new Thread(null, () -> {
                for (int round = 0; round < ROUNDS; round++) {
                    Burn.sink += down(DEPTH);
                }
            }, "deep", 256 << 20);
            thread.start();
            thread.join();
            System.out.println("most_kib=" + Memory.kib("VmHWM"));
        }
    }
}
