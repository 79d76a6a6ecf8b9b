/*
 * Vouch's own walker finds what AsyncGetCallTrace does not. It finds the interpreter's current
 * line, and not that of the last call. It finds a method that is just being entered or left, and a
 * thread inside the VM. If both walk, the report says how they differed. The own walker's stacks
 * are checked against the bytecode and GetStackTrace, as all others are.
 *
 * @test
 * @summary our own walker has the stacks that AsyncGetCallTrace has not, and the lines
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=200 OwnWalker
 */

import java.util.Arrays;
import java.util.List;

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

public class OwnWalker {
    private static final String[] KINDS = {"same", "other_line", "asgct_longer", "own_longer", "other_method", "asgct_alone", "own_alone", "neither"};

    private static final BusyHostGaps HOST_GAPS = new BusyHostGaps();

    public static void main(String[] args) {
        Pace pace = Pace.of(lines());
        // A method that consists of little but entry and exit, not inlined.
        everything(pace, "compiled", "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,OwnWalker$Calls::calls");
        everything(pace, "interpreted", "-Xint");
        alone(pace);
        wrong();
        HOST_GAPS.tell();
    }

    /**
     * Runs an interpreted loop without a call. Its time belongs to the loop, not to the call before
     * it. Returns a run's report.
     */
    private static Report lines() {
        Run run = Vm.with("walker=own").flags("-Xint").run(Lines.class).ok();
        int call = Integer.parseInt(run.out.get(0));
        List<Sample> samples = run.profile().samples();
        long all = samples.stream().filter(sample -> sample.leaf().function.equals("OwnWalker$Lines.loop")).count();
        long looping = samples.stream()
            .filter(sample -> sample.leaf().function.equals("OwnWalker$Lines.loop"))
            .filter(sample -> sample.leaf().line == call + 1 || sample.leaf().line == call + 2)
            .count();
        // One sample in six of those due is enough, also for an engine that can do no more.
        Check.atLeast(run.report().signalsIn(Lines.MS) / 6, all, "samples of the loop");
        Check.atLeast(0.95 * all, looping, "of them, at the loop's own lines");
        // AsyncGetCallTrace has another line for the same samples; otherwise this test shows
        // nothing.
        Report both = Vm.with("walker=both").flags("-Xint").run(Lines.class).ok().report();
        Check.atLeast(both.signalsIn(Lines.MS) / 6, both.agreement("other_line", "samples"), "samples of which AsyncGetCallTrace has another line");
        return both;
    }

    /** Checks calls, exceptions and VM work: nearly every sample has a stack that holds. */
    private static void everything(Pace pace, String mode, String... flags) {
        long millis = pace.millis(Calls.MS);
        String fixedWork = Long.toString(millis);
        Report without = pace.with("walker=asgct,recovery=off,threads=^" + THREAD + "$").flags(flags).run(Calls.class, fixedWork).ok().report();
        Report with = pace.with("walker=both,witness=400/s,threads=^" + THREAD + "$").flags(flags).run(Calls.class, fixedWork).ok().report();
        Check.atLeast(0.02 * javaSamples(without), bad(without), mode + " samples that AsyncGetCallTrace has no right stack for");
        Check.atMost(0.25 * bad(without) / javaSamples(without) * javaSamples(with), bad(with), mode + " samples without a stack that holds");
        Check.equal(0L, without.agreement("same", "samples"), "accounts that were compared without a second walker");
        for (String kind : with.json.getAsJsonObject("agreement").keySet()) {
            Check.that(Arrays.asList(KINDS).contains(kind), "an unknown difference: " + kind);
        }
        long compared = with.agreement("samples");
        long own = with.walkedBy("own");
        Check.atLeast(0.9 * with.walked(), own, mode + " samples whose stack is by the own walker");
        long alone = with.agreement("own_alone", "samples");
        Check.atLeast(0.2 * bad(without) * compared / javaSamples(without), alone, mode + " samples that the own walker alone has a stack for");
        Check.atMost(Math.max(2, 0.02 * alone), with.agreement("own_alone", "own_refuted"), "of them, that proof refutes");
        Check.atMost(3, astray(with), "walks of the own walker that read what is no memory");
        long methods = with.agreement("same", "samples") + with.agreement("other_line", "samples");
        Check.atLeast(0.3 * compared, methods, mode + " samples that both have the same methods for");
        JsonObject grade = with.json.getAsJsonObject("witness").getAsJsonObject("all_but_top");
        long asked = grade.get("asked").getAsLong();
        if (Vm.major() >= 17 && Runtime.getRuntime().availableProcessors() > 1) {
            HOST_GAPS.enough(10, asked, with, millis, mode + " stacks that the JVM itself was asked about");
        }
        Check.atMost(Math.max(1, 0.02 * asked), asked - grade.get("agreed").getAsLong(), "of them, that differed");
    }

    /** Checks that Vouch works without AsyncGetCallTrace. */
    private static void alone(Pace pace) {
        Report report = pace.with("walker=own,threads=^" + THREAD + "$").run(Calls.class, Long.toString(pace.millis(Calls.MS))).ok().report();
        Check.atMost(0.02 * javaSamples(report), bad(report), "samples without a stack that holds, by the own walker alone");
        Check.that(report.engineNotes().stream().noneMatch(note -> note.contains("own walker") && note.contains("no more")),
            "the own walker was switched off: " + report.engineNotes());
    }

    /**
     * Breaks the walker on purpose. It finds out itself that its stack differs from the JVM's,
     * stops walking, and reports that.
     */
    private static void wrong() {
        Report report = Vm.lab("walker=own,recovery=off,break=gap,threads=^" + THREAD + "$").run(Calls.class, WRONG_MS).ok().report();
        Check.that(report.engineNotes().stream().anyMatch(note -> note.contains("own walker") && note.contains("walked no more")),
            "nobody noticed that the own walker is wrong: " + report.engineNotes());
        Check.atLeast(0.9 * javaSamples(report), report.unwalkedCodes().getOrDefault("stopped", 0L), "samples that it had no stack for since");
    }

    private static long astray(Report report) {
        return report.engineNotes().stream().filter(note -> note.endsWith("came to what is no memory, and were ended"))
            .mapToLong(note -> Long.parseLong(note.substring(0, note.indexOf(' ')))).sum();
    }

    private static long bad(Report report) {
        return report.samples("unwalked") + report.samples("refuted");
    }

    private static long javaSamples(Report report) {
        return report.walked() + report.samples("unwalked");
    }

    private static final String THREAD = "worker";
    /** The fault is found before the thread begins. */
    private static final String WRONG_MS = "300";

    static class Lines {
        private static final long MS = 300;

        public static void main(String[] args) {
            FixedWork fixedWork = new FixedWork(MS);
            while (fixedWork.isOn()) {
                Burn.sink += loop(100_000);
            }
        }

        private static long loop(int steps) {
            long value = called(steps);
            for (int i = 0; i < steps; i++) {
                value = value * 31 + (value >>> 7 ^ i);
            }
            return value;
        }

        private static boolean told;

        /** Prints once at which line it is called. */
        private static long called(int steps) {
            if (!told) {
                told = true;
                System.out.println(new Throwable().getStackTrace()[1].getLineNumber());
            }
            return steps;
        }
    }

    static class Calls {
        /** The run time at an interval of 1 ms. */
        private static final long MS = 1_000;
        static volatile int sink;
        /** This value is on the stack where a return address may be, and it points to no memory. */
        private static final long ARGUMENT = 0x7fff_0000_1000L;

        public static void main(String[] args) throws InterruptedException {
            long millis = Long.parseLong(args[0]);
            Thread thread = new Thread(() -> work(millis), THREAD);
            thread.start();
            thread.join();
        }

        private static void work(long millis) {
            FixedWork fixedWork = new FixedWork(millis);
            StringBuilder text = new StringBuilder();
            while (fixedWork.isOn()) {
                sink = calls(20, ARGUMENT) + thrown(20);
                text.append(sink);
                if (text.length() > 1_000) {
                    text.delete(0, 900);
                }
            }
        }

        private static int calls(int left, long argument) {
            return left < 2 ? left : calls(left - 1, argument) + calls(left - 2, argument);
        }

        private static int thrown(int left) {
            if (left == 0) {
                return new Throwable().getStackTrace().length;
            }
            return thrown(left - 1);
        }
    }
}
