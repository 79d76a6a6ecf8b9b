/*
 * Recovery finds a stack where AsyncGetCallTrace fails. Half of this program's time goes into
 * copying arrays, in stubs that AsyncGetCallTrace cannot walk. Without recovery the profile shows
 * almost no copying. With recovery each half has its share of the time.
 *
 * The interpreter loses a stack while it enters or leaves a method. The recovered stack then has a
 * pseudo-frame on top. Recovered stacks are not guesses: bytecode proof refutes wrong ones, and
 * GetStackTrace agrees about the same stacks.
 *
 * @test
 * @summary time is shown in the right method even if AsyncGetCallTrace finds no stack for it
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=200 Recovery
 */

import com.google.gson.JsonObject;

import dev.vouch.test.Burn;
import dev.vouch.test.BusyHostGaps;
import dev.vouch.test.Check;
import dev.vouch.test.FixedWork;
import dev.vouch.test.Pace;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.Vm;

public class Recovery {
    private static final String LOST = "[a method that is being entered or left]";
    private static final String[] STRATEGIES = {"left_java", "top", "probe", "frame_pointer"};

    /** CPU time of the working thread, by design, at an interval of 1 ms. */
    private static final long MS = 1_500;
    /**
     * CPU time of the runs without recovery or with one strategy. Less time suffices, because half
     * of all samples have no stack or many are retried.
     */
    private static final String BARE_MS = "600";
    private static final String CHOSEN_MS = "300";
    private static final BusyHostGaps HOST_GAPS = new BusyHostGaps();

    public static void main(String[] args) {
        Pace pace = copies();
        interpreted(pace);
        chosen();
        HOST_GAPS.tell();
    }

    /**
     * Checks that time in stubs appears under the calling method. Returns the pace of this machine.
     */
    private static Pace copies() {
        Run without = Vm.with("walker=asgct,recovery=off,threads=^" + THREAD + "$").run(Copies.class, BARE_MS).ok();
        Report bare = without.report();
        Check.atLeast(0.3 * javaSamples(bare), bare.samples("unwalked"), "samples without a stack, if nothing is recovered");
        Check.equal(0L, recovered(bare, "tried"), "contexts that were repaired without recovery");
        Check.atMost(share(without) - 0.15, shown(without), "share of the copying that is shown without recovery");

        Pace pace = Pace.of(bare);
        long millis = pace.millis(MS);
        Run with = pace.with("verbose,walker=asgct,witness=400/s,threads=^" + THREAD + "$").run(Copies.class, Long.toString(millis)).ok();
        Report report = with.report();
        Check.atMost(0.02 * javaSamples(report), report.samples("unwalked") + report.samples("refuted"), "samples without a stack that holds");
        // The tolerance is 4.5 standard deviations, plus what a slice runs beyond its length.
        double tolerance = 0.02 + 4.5 * 0.5 / Math.sqrt(report.walked());
        Check.near(share(with), shown(with), tolerance, "share of the copying that is shown");
        Check.atLeast(0.3 * javaSamples(report), recovered(report, "proven") + recovered(report, "plausible"), "stacks that were recovered");
        Check.atMost(recovered(report, "tried"), recovered(report, "walked"), "contexts that gave a stack");
        Check.equal(recovered(report, "walked"), recovered(report, "proven") + recovered(report, "plausible") + recovered(report, "refuted"),
            "what became of the stacks that were held to the bytecode");
        Check.contains(String.join("\n", with.vouchLines()), " % has its stack by recovery", "summary");
        whatTheJvmSays(report, millis);
        return pace;
    }

    /** Checks interpreted calls, which are mostly method entries and returns. */
    private static void interpreted(Pace pace) {
        long millis = pace.millis(MS);
        String fixedWork = Long.toString(millis);
        Report bare = pace.with("walker=asgct,recovery=off,threads=^" + THREAD + "$").flags("-Xint").run(Calls.class, fixedWork).ok().report();
        Check.atLeast(0.01 * javaSamples(bare), bare.samples("unwalked"), "interpreted samples without a stack, if nothing is recovered");

        Run run = pace.with("verbose,walker=asgct,witness=400/s,threads=^" + THREAD + "$").flags("-Xint").run(Calls.class, fixedWork).ok();
        Report report = run.report();
        Check.atMost(0.3 * bare.samples("unwalked") / javaSamples(bare) * javaSamples(report), report.samples("unwalked") + report.samples("refuted"),
            "interpreted samples without a stack that holds");
        long lost = 0;
        for (Sample sample : run.profile().samples()) {
            if (sample.has(LOST)) {
                lost++;
                Check.equal(LOST, sample.leaf().function, "the frame on top of a stack that lost its own");
                Check.equal("plausible", sample.leaf().fate(), "the fate of a stack that lost its frame on top");
                Check.atLeast(3, sample.depth(), "frames of a stack that lost the one on top");
            }
        }
        Check.atLeast(0.02 * javaSamples(report), lost, "stacks that say that they lost the frame on top");
        whatTheJvmSays(report, millis);
    }

    /** Checks that a single selected strategy runs alone. */
    private static void chosen() {
        Report report = Vm.with("walker=asgct,recovery=top,threads=^" + THREAD + "$").run(Copies.class, CHOSEN_MS).ok().report();
        JsonObject recovery = report.json.getAsJsonObject("recovery");
        for (String strategy : STRATEGIES) {
            long tried = recovery.getAsJsonObject(strategy).get("tried").getAsLong();
            Check.that(strategy.equals("top") == tried > 0, strategy + " was tried " + tried + " times");
        }
    }

    /** Compares with GetStackTrace of the same thread, as far as that was possible. */
    private static void whatTheJvmSays(Report report, long millis) {
        JsonObject witness = report.json.getAsJsonObject("witness");
        JsonObject grade = witness.getAsJsonObject("all_but_top");
        long asked = grade.get("asked").getAsLong();
        if (Vm.major() >= 17 && Runtime.getRuntime().availableProcessors() > 1) {
            String what = "stacks that the JVM itself was asked about";
            Check.atLeast(0.5 * (witness.get("asked").getAsLong() - report.lateWitnesses()), asked, what);
            HOST_GAPS.enough(10, asked, report, millis, what);
        }
        Check.atMost(Math.max(1, 0.02 * asked), asked - grade.get("agreed").getAsLong(), "of them, that differed");
    }

    private static long javaSamples(Report report) {
        return report.walked() + report.samples("unwalked");
    }

    private static long recovered(Report report, String key) {
        JsonObject recovery = report.json.getAsJsonObject("recovery");
        Check.equal(STRATEGIES.length, recovery.size(), "strategies in the report");
        long sum = 0;
        for (String strategy : STRATEGIES) {
            sum += recovery.getAsJsonObject(strategy).get(key).getAsLong();
        }
        return sum;
    }

    /** Returns the copying's share of CPU time, as the program measures it. */
    private static double share(Run run) {
        return Double.parseDouble(run.out.get(0));
    }

    /**
     * Returns the copying's share in the profile. A stalled machine makes a sample heavy, so each
     * weight is capped at the program's longest slice.
     */
    private static double shown(Run run) {
        double copies = weight(run, "Recovery$Copies.copies");
        return copies / (copies + weight(run, "Recovery$Copies.adds"));
    }

    private static double weight(Run run, String function) {
        double most = FixedWork.LONGEST_MS * 1e3 / run.report().intervalUs();
        return run.profile().samples().stream().filter(sample -> sample.has(function)).mapToDouble(sample -> Math.min(sample.weight, most)).sum();
    }

    private static final String THREAD = "worker";

    /**
     * Runs the work in a separate thread. The main thread has several entry points, because the
     * launcher calls into Java more than once.
     */
    private static void inThread(Runnable work) throws InterruptedException {
        Thread thread = new Thread(work, THREAD);
        thread.start();
        thread.join();
    }

    static class Copies {
        private static final byte[] FROM = new byte[1 << 16];
        private static final byte[] TO = new byte[1 << 16];
        private static final int SLICE_MS = 10;

        public static void main(String[] args) throws InterruptedException {
            long millis = Long.parseLong(args[0]);
            inThread(() -> work(millis));
        }

        private static void work(long millis) {
            // Compiled code copies by a stub. Compile it first, however slow the machine's memory
            // is.
            for (int i = 0; i < 200_000; i++) {
                copy(100);
            }
            long copying = 0;
            long adding = 0;
            while (copying + adding < millis * 1_000_000) {
                copying += worked(copies());
                adding += worked(adds());
            }
            System.out.println(1.0 * copying / (copying + adding));
        }

        /** Caps a slice's CPU time, because a longer one includes time of a stalled machine. */
        private static long worked(long charged) {
            return Math.min(charged, FixedWork.LONGEST_MS * 1_000_000);
        }

        private static long copies() {
            long begun = Burn.cpuNanos();
            long now = begun;
            while (now < begun + SLICE_MS * 1_000_000L) {
                for (int i = 0; i < 100; i++) {
                    copy(FROM.length - (i & 7));
                }
                now = Burn.cpuNanos();
            }
            return now - begun;
        }

        private static void copy(int length) {
            System.arraycopy(FROM, 0, TO, 0, length);
        }

        private static long adds() {
            return Burn.millis(SLICE_MS);
        }
    }

    static class Calls {
        static volatile int sink;

        public static void main(String[] args) throws InterruptedException {
            long millis = Long.parseLong(args[0]);
            inThread(() -> work(millis));
        }

        private static void work(long millis) {
            FixedWork fixedWork = new FixedWork(millis);
            while (fixedWork.isOn()) {
                sink = calls(12);
            }
        }

        private static int calls(int left) {
            return left < 2 ? left : calls(left - 1) + calls(left - 2);
        }
    }
}
