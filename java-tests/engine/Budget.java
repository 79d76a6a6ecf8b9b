/*
 * What a profile costs where nobody asked for an interval: the first ten seconds of CPU time have a sample for each millisecond, so that the
 * profile of a program that is soon done has many. (Here it is the first one: lab=early-budget.) From then on they are rarer, if they would
 * take more than a hundredth of the program's time, and no time is lost by it.
 *
 * @test
 * @summary without interval= sampling takes little of a long run, and says so
 * @key perf newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=300 Budget
 */

import java.util.List;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Mark;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.Skip;
import dev.vouch.test.Stint;
import dev.vouch.test.Vm;

public class Budget {
    /** Deep enough that a walk takes more than a hundredth of a millisecond anywhere. */
    private static final int DEEP = 3_000;
    private static final int THREADS = 2;
    private static final int EACH_MS = 4_000;
    private static final double FREE_MS = 1_000;

    public static void main(String[] args) {
        Run run = Vm.with("engine=perf,lab=early-budget").flags("-Xmx128m").run(Program.class);
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

    private static boolean isOfBudget(String note) {
        return note.startsWith("sampling every ") && note.contains(" of the program's time, and without interval= ");
    }

    static class Program {
        public static void main(String[] args) throws InterruptedException {
            Thread[] threads = new Thread[THREADS];
            for (int i = 0; i < THREADS; i++) {
                threads[i] = new Thread(null, Program::burn, "deep-" + i, 16 << 20);
                threads[i].start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
        }

        private static void burn() {
            for (Stint stint = new Stint(EACH_MS); stint.isOn();) {
                Burn.sink += down(DEEP);
            }
        }

        private static long down(int left) {
            return left == 0 ? Burn.work(1_000_000) : 1 + down(left - 1);
        }
    }
}
