/*
 * Without interval=, the first ten seconds of CPU time have a sample for each millisecond, so that
 * a short program's profile has many. Here it is the first second: lab=early-budget. From then on
 * samples are rarer if they would cost more than 1 % of the program's time. Their weights must
 * still add up to all CPU time.
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
import dev.vouch.test.BurnUntilInput;
import dev.vouch.test.Check;
import dev.vouch.test.Mark;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Sample;
import dev.vouch.test.Skip;
import dev.vouch.test.Vm;

public class Budget {
    /** Deep enough that a walk takes more than 10 us on any machine. */
    private static final int DEEP = 3_000;
    private static final int THREADS = 2;
    /** CPU time of each thread after the interval has become longer. */
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
     * The governor needs five measurements of an interrupt before it acts. These take some four
     * seconds, whatever runs meanwhile.
     */
    private static Run run() throws InterruptedException {
        try (Running child = Vm.lab("engine=perf,lab=early-budget").flags("-Xmx128m").start(Program.class)) {
            Path begun = child.dir.resolve(BEGUN);
            // If the engine is refused, the program ends before it creates this file.
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
            BurnUntilInput.burn(THREADS, AFTER_MS, () -> Burn.sink += down(DEEP));
        }

        private static long down(int left) {
            return left == 0 ? Burn.work(1_000_000) : 1 + down(left - 1);
        }
    }
}
