/*
 * A recursion of 20,000 frames is shown whole if the user asks for that depth; at the ordinary depth it is cut, and
 * the stack says so at its root. A stack that is cut in silence looks as if the program had begun in the middle of
 * nowhere. How many frames there really are is what the JVM itself says, at the bottom of the recursion.
 *
 * @test
 * @summary Deep stacks are whole, or marked as cut
 * @library /lib
 * @build dev.vouch.test.*
 * @run main Depth
 */

import java.util.ArrayList;
import java.util.List;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Frame;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.Vm;

public class Depth {
    private static final int LIMIT = 2048;
    private static final int DEEP = 20_000;

    public static void main(String[] args) {
        whole();
        cut();
        justBelowTheLimit();
    }

    private static void whole() {
        Run run = run("interval=1ms,depth=30000", DEEP);
        int frames = (int) run.number("frames-" + DEEP);
        for (Sample sample : inTheDeep(run, DEEP)) {
            Check.equal(frames, sample.depth(), "frames of a whole stack");
            Check.equal("java.lang.Thread.run", sample.root().function, "root of a whole stack");
            long downs = sample.functions().stream().filter("Depth$Program.down"::equals).count();
            Check.equal(DEEP + 1, downs, "calls of the recursion");
        }
    }

    private static void cut() {
        Run run = run("interval=1ms", DEEP);
        for (Sample sample : inTheDeep(run, DEEP)) {
            Check.equal("[cut at " + LIMIT + " frames]", sample.root().function, "root of a cut stack");
            Check.equal(LIMIT + 1, sample.depth(), "frames of a cut stack, and the mark");
            Frame mark = sample.root();
            Check.that(!mark.java && mark.file == null && mark.line == 0, "the mark is no method: " + mark);
        }
    }

    private static void justBelowTheLimit() {
        // How many frames there are around the recursion is known once it has run.
        int around = (int) run("interval=1ms", 0).number("frames-0");
        int at = LIMIT - around;
        Run run = run("interval=1ms", at - 1, at, at + 1);
        for (int more = -1; more <= 1; more++) {
            Check.equal(LIMIT + more, run.number("frames-" + (at + more)), "frames of the stack that was aimed at");
            for (Sample sample : inTheDeep(run, at + more)) {
                boolean marked = sample.root().function.startsWith("[cut");
                Check.equal(more > 0, marked, "mark on a stack of " + (LIMIT + more) + " frames: " + sample.root());
                Check.equal(LIMIT + more, sample.depth(), "frames of a stack of " + (LIMIT + more) + ", mark included");
            }
        }
    }

    private static Run run(String options, int... depths) {
        String[] args = new String[depths.length];
        for (int i = 0; i < args.length; i++) {
            args[i] = Integer.toString(depths[i]);
        }
        // So that the program's own count has the frames that the JVM hides from it (Thread.runWith).
        return Vm.with(options).flags("-XX:MaxJavaStackTraceDepth=1000000", "-XX:+UnlockDiagnosticVMOptions",
            "-XX:+ShowHiddenFrames").run(Program.class, args).ok();
    }

    /** The samples taken at the one place whose depth the program knows; there must be enough of them. */
    private static List<Sample> inTheDeep(Run run, int depth) {
        List<Sample> samples = new ArrayList<>(run.profile().track("deep-" + depth).samples);
        samples.removeIf(sample -> !sample.leaf().function.equals("dev.vouch.test.Burn.work"));
        Check.atLeast(Program.BURN_MS / 2, samples.stream().mapToLong(sample -> sample.weight).sum(),
            "weight of the samples at the bottom of a recursion of " + depth + ", in ms");
        return samples;
    }

    /** Threads that recurse and burn CPU time at the bottom. */
    static class Program implements Runnable {
        static final long BURN_MS = 200;

        private final int depth;

        Program(int depth) {
            this.depth = depth;
        }

        public static void main(String[] args) throws InterruptedException {
            for (String arg : args) {
                Thread thread = new Thread(null, new Program(Integer.parseInt(arg)), "deep-" + arg, 1 << 29);
                thread.start();
                thread.join();
            }
        }

        @Override
        public void run() {
            Burn.sink += down(depth);
        }

        private long down(int left) {
            return left == 0 ? bottom() : 1 + down(left - 1);
        }

        private long bottom() {
            // Burn.work is called by Burn.millis, which is called here.
            int frames = new Throwable().getStackTrace().length + 2;
            System.out.println("frames-" + depth + "=" + frames);
            return Burn.millis(BURN_MS);
        }
    }
}
