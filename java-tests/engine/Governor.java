/*
 * Tests what the governor does on a slow machine. On a virtual machine a timer interrupt costs ten
 * times as much as on hardware, so a usual interval may take half of a core. The governor must
 * lengthen an interval that is too expensive, report that, and keep the weights right.
 *
 * @test
 * @summary the governor lengthens an interval that the machine cannot afford, and no time is lost
 * @key perf newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=300 Governor
 */

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.Scale;
import dev.vouch.test.Skip;
import dev.vouch.test.Vm;

public class Governor {
    private static final int THREADS = 32;
    /**
     * Runs of less than four seconds show the governor's first decision. Later it has enough
     * measurements to decide again.
     */
    private static final int SECONDS = Scale.pick(1, 60);

    public static void main(String[] args) {
        Run shortest = run("50us", 1);
        Skip.ifEngineRefused(shortest);
        conserved(shortest);
        conserved(run("200us", SECONDS));
        conserved(Vm.with("verbose,engine=perf").run(Program.class, "2", "1").ok());
    }

    private static Run run(String interval, int seconds) {
        return Vm.with("verbose,engine=perf,interval=" + interval).flags("-Xmx128m")
            .run(Program.class, Integer.toString(THREADS), Integer.toString(seconds));
    }

    private static void conserved(Run run) {
        run.ok();
        Report report = run.report();
        Check.between(0.98, report.conserved(), 1.02, "sampled time, of what the kernel charged");
        double every = report.sampledIntervalUs();
        Check.atLeast(report.intervalUs(), every, "what is between two signals, in us");
        Check.equal(0, Math.round(every) % Math.round(report.intervalUs()), "what is over a multiple of the interval");
        boolean longer = every > report.intervalUs();
        String size = run.vouchLines().stream().filter(line -> line.contains(" signals in ")).findFirst().get();
        Check.equal(longer, size.contains(String.format("; perf every %.0f us, ", every)), "said in <" + size + ">");
        long notes = report.engineNotes().stream().filter(note -> note.startsWith("sampling every ")).count();
        Check.equal(longer, notes > 0, "told among " + report.engineNotes());
        // A thread's first two signals come when they are due, and its last at its end.
        int spare = 3 * report.threads().size();
        OptionalDouble lengthened = run.profile().marks("vouch_lengthened").stream().mapToDouble(mark -> mark.startMs).max();
        if (lengthened.isPresent()) {
            // An interrupt may become slower during the run. Before that, signals came more often.
            List<Sample> since = new ArrayList<>(run.profile().samples());
            since.removeIf(sample -> sample.timeMs <= lengthened.getAsDouble());
            double sampledMs = since.stream().mapToLong(sample -> sample.weight).sum() * report.intervalUs() / 1e3;
            Check.atMost(1.02 * report.signalsIn(sampledMs) + spare, since.size(), "signals at one in " + every + " us, since they are so rare");
        } else {
            Check.atMost(1.02 * report.signalsIn(report.cpuMs()) + spare, report.signals(), "signals at one in " + every + " us");
        }
    }

    static class Program {
        public static void main(String[] args) throws InterruptedException {
            // The CPU time that two cores can give to each thread.
            int each = 2_000 * Integer.parseInt(args[1]) / Integer.parseInt(args[0]);
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < Integer.parseInt(args[0]); i++) {
                Thread thread = new Thread(() -> Burn.millis(each), "burner-" + i);
                threads.add(thread);
                thread.start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
        }
    }
}
