/*
 * Recursions of 5,000 and of 50,000 frames are shown whole. A deeper one is cut in its middle and
 * says so there. Its root is the true one; otherwise a deep stack would seem to begin in the middle
 * of nowhere. The JVM itself reports the true number of frames at the bottom of the recursion.
 *
 * @test
 * @summary Deep stacks are whole, or cut in their middle and marked there
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main Depth
 */

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Frame;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.Track;
import dev.vouch.test.Vm;

public class Depth {
    private static final String MARK = "[frames left out]";
    private static final int LIMIT = 2048;
    private static final int DEEP = 5_000;
    private static final int DEEPER = 50_000;
    private static final int ENOUGH = 10;

    public static void main(String[] args) {
        int at = LIMIT - whole();
        Run limited = run("interval=1ms,depth=" + LIMIT, DEEP, at - 1, at, at + 1);
        cut(limited);
        justBelowTheLimit(limited, at);
    }

    /** Returns the number of frames around a recursion. */
    private static int whole() {
        Run run = run("interval=1ms", 0, DEEP, DEEPER);
        for (int depth : new int[] {DEEP, DEEPER}) {
            int frames = (int) run.number("frames-" + depth);
            for (Sample sample : inTheDeep(run, depth)) {
                Check.equal(frames, sample.depth(), "frames of a whole stack");
                Check.equal("java.lang.Thread.run", sample.root().function, "root of a whole stack");
                long downs = sample.functions().stream().filter("Depth$Program.down"::equals).count();
                Check.equal(depth + 1, downs, "calls of the recursion");
            }
        }
        return (int) run.number("frames-0");
    }

    private static void cut(Run run) {
        for (Sample sample : inTheDeep(run, DEEP)) {
            Check.equal("java.lang.Thread.run", sample.root().function, "root of a cut stack");
            Check.equal(LIMIT + 1, sample.depth(), "frames of a cut stack, and the mark");
            Frame mark = sample.frames().get(LIMIT / 2);
            Check.equal(MARK, mark.function, "in the middle of a cut stack");
            Check.that(!mark.java && mark.file == null && mark.line == 0, "the mark is no method: " + mark);
            Check.equal(1, Collections.frequency(sample.functions(), MARK), "marks in a cut stack");
        }
    }

    private static void justBelowTheLimit(Run run, int at) {
        for (int more = -1; more <= 1; more++) {
            Check.equal(LIMIT + more, run.number("frames-" + (at + more)), "frames of the stack that was aimed at");
            for (Sample sample : inTheDeep(run, at + more)) {
                boolean marked = sample.functions().contains(MARK);
                Check.equal(more > 0, marked, "mark in a stack of " + (LIMIT + more) + " frames");
                Check.equal(LIMIT + more, sample.depth(), "frames of a stack of " + (LIMIT + more) + ", mark included");
            }
        }
    }

    private static Run run(String options, int... depths) {
        String[] args = new String[depths.length];
        for (int i = 0; i < args.length; i++) {
            args[i] = Integer.toString(depths[i]);
        }
        // The flags make the program's own count include frames that the JVM hides
        // (Thread.runWith).
        return Vm.with(options).flags("-XX:MaxJavaStackTraceDepth=1000000", "-XX:+UnlockDiagnosticVMOptions",
            "-XX:+ShowHiddenFrames").run(Program.class, args).ok();
    }

    /** The samples at the one depth that the program knows. There must be enough of them. */
    private static List<Sample> inTheDeep(Run run, int depth) {
        Track track = run.profile().track("deep-" + depth);
        List<Sample> samples = new ArrayList<>(track.samples);
        samples.removeIf(sample -> !sample.leaf().function.equals("dev.vouch.test.Burn.work"));
        long bottom = samples.stream().mapToLong(sample -> sample.weight).sum();
        // A slow walk makes the thread rest, and time at rest has no stack.
        long skipped = track.weightOf("[no stack: its signals were skipped, to keep sampling cheap]");
        Check.atLeast(Program.burnMs(depth) / 2, bottom + skipped,
            "weight of the samples at the bottom of a recursion of " + depth + ", and of those that were skipped, in ms");
        Check.atLeast(ENOUGH, samples.size(), "samples at the bottom of a recursion of " + depth);
        return samples;
    }

    /** Threads that recurse and burn CPU time at the bottom. */
    static class Program implements Runnable {
        /**
         * A thread rests ten times as long as its walk took, and deeper walks take longer. The time
         * at rest has no stack, and must be a small part of all.
         */
        static long burnMs(int depth) {
            return 200 + depth / 50;
        }

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
            return Burn.millis(burnMs(depth));
        }
    }
}
