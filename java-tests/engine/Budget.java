/*
 * What a profile costs where nobody asked for an interval: the first ten seconds of CPU time have a
 * sample for each millisecond, so that the profile of a program that is soon done has many. (Here
 * it is the first one: lab=early-budget.) From then on they are rarer, if they would take more than
 * a hundredth of the program's time, and no time is lost by it.
 *
 * @test
 * @summary without interval= sampling takes little of a long run, and says so
 * @key perf newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=300 Budget
 */

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.List;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Mark;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Sample;
import dev.vouch.test.Skip;
import dev.vouch.test.UntilTold;
import dev.vouch.test.Vm;

public class Budget {
    /** Deep enough that a walk takes more than a hundredth of a millisecond anywhere. */
    private static final int DEEP = 3_000;
    private static final int THREADS = 2;
    /** Of each thread, once the interval is longer. */
    private static final int AFTER_MS = 500;
    private static final double FREE_MS = 1_000;
    private static final String BEGUN = "begun";
    private static final String MARK = "[vouch] ";
    private static final String SAID = "sampling every ";

    public static void main(String[] args) throws InterruptedException {
        Run run = run();
        Skip.ifEngineRefused(run);
        run.ok();
        Report report = run.report();
        report.checkConserved(THREADS);
        List<Mark> marks = run.profile().marks("vouch_lengthened");
        Check.atLeast(1, marks.size(), "the trigger: times that the interval was made longer");
        Check.atLeast(2 * report.intervalUs(), report.sampledIntervalUs(), "what is between two signals in the end, in us");
        Check.equal(true, report.engineNotes().stream().anyMatch(Budget::isOfBudget), "told among " + report.engineNotes());
        if (report.engineNotes().stream().anyMatch(note -> note.contains("a timer interrupt costs "))) {
            return; // what the machine could not afford came before
        }
        double longer = marks.stream().mapToDouble(mark -> mark.startMs).min().getAsDouble();
        double before = run.profile().samples().stream().filter(sample -> sample.timeMs <= longer)
            .mapToDouble((Sample sample) -> sample.weight).sum() * report.intervalUs() / 1e3;
        Check.atLeast(0.9 * FREE_MS, before, "CPU time that is sampled as was said, in ms");
    }

    /**
     * The governor wants five measurements of an interrupt first, which come some four seconds
     * after the beginning, whatever runs meanwhile.
     */
    private static Run run() throws InterruptedException {
        try (Running child = Vm.with("engine=perf,lab=early-budget").flags("-Xmx128m").start(Program.class)) {
            Path begun = child.dir.resolve(BEGUN);
            // If its engine is refused it ends before that.
            while (child.isAlive() && !Files.exists(begun)) {
                Thread.sleep(10);
            }
            if (Files.exists(begun)) {
                String said = "";
                while (!isOfBudget(said)) {
                    said = child.awaitErr(MARK + SAID).substring(MARK.length());
                }
                child.stdin().println();
            }
            return child.waitFor();
        }
    }

    private static boolean isOfBudget(String note) {
        return note.startsWith(SAID) && note.contains(" of the program's time, and without interval= ");
    }

    static class Program {
        public static void main(String[] args) throws Exception {
            Files.createFile(Paths.get(BEGUN));
            UntilTold.burn(THREADS, AFTER_MS, () -> Burn.sink += down(DEEP));
        }

        private static long down(int left) {
            return left == 0 ? Burn.work(1_000_000) : 1 + down(left - 1);
        }
    }
}
