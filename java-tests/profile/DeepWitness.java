/*
 * Stacks of hundreds of thousands of frames, witnessed as often as can be. A thread stands still for as long as GetStackTrace walks it,
 * so the JVM must not be asked for more than is kept of a walk: else the program takes several times as long, and the agent, which
 * waits for the answer, loses nearly all samples meanwhile.
 *
 * @test
 * @summary the witness costs no more for a thread that stands very deep
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=200 DeepWitness
 */

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.Vm;

public class DeepWitness {
    private static final int ROUNDS = 50;
    private static final int DEPTH = 300_000;

    public static void main(String[] args) {
        Run run = Vm.with("interval=1ms,witness=1000/s").flags("-Xmx256m").run(Program.class).ok();
        Report report = run.report();
        Check.equal(0L, report.samples("dropped"), "samples without room");
        report.checkConserved("deep");
        long deep = 0;
        for (Sample sample : run.profile().track("deep").samples) {
            deep += sample.root().function.equals("[cut at 2048 frames]") ? 1 : 0;
        }
        Check.that(deep > 0, "the trigger: no stack was so deep that it was cut");
        long asked = report.json.getAsJsonObject("witness").get("asked").getAsLong();
        Check.that(asked > 0, "nobody was asked");
    }

    static class Program {
        /** Works at the bottom, as long as it takes to be met there. */
        private static int down(int depth) {
            if (depth == 0) {
                return (int) Burn.millis(20);
            }
            return down(depth - 1) + 1;
        }

        public static void main(String[] args) throws InterruptedException {
            Burn.millis(1);
            Thread thread = new Thread(null, () -> {
                for (int round = 0; round < ROUNDS; round++) {
                    Burn.sink += down(DEPTH);
                }
            }, "deep", 256 << 20);
            thread.start();
            thread.join();
        }
    }
}
