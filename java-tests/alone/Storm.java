/*
 * The sampler must survive a core that is saturated by timer interrupts. When the agent sees such a
 * storm, it pauses its perf events for a moment. If the interrupts cease during the pause, they
 * were the agent's own: it lengthens the interval, then stops the engine. If they continue, another
 * program causes them, and sampling goes on. The preloaded storm.c makes both kinds. A storm
 * disturbs every profile that is taken meanwhile, so this test runs beside no other.
 *
 * @test
 * @summary a storm of the agent's own timer interrupts makes sampling rarer, then ends it
 * @key perf
 * @library /lib
 * @build dev.vouch.test.*
 * @run main Storm
 */

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.List;
import java.util.function.Predicate;

import dev.vouch.test.Burn;
import dev.vouch.test.Burning;
import dev.vouch.test.CCompiler;
import dev.vouch.test.Check;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Skip;
import dev.vouch.test.Vm;

public class Storm {
    /**
     * A storm is 20,000 interrupts a second that take a fifth of a core. Where the agent samples no
     * more often than this, an interrupt is that expensive.
     */
    private static final double DEAR_US = 400;
    /**
     * At this interval an interrupt is so slow that the storm would saturate the core, so the test
     * is skipped.
     */
    private static final double TOO_DEAR_US = 800;
    private static final int TRIES = 3;
    private static final String GOES_ON = "sampling goes on";
    private static final String RARER = "sampling every ";
    private static final int SECONDS = 3;

    private static String storm;

    public static void main(String[] args) throws IOException {
        Skip.unless(Runtime.getRuntime().availableProcessors() > 1, "a storm would take the only core");
        storm = CCompiler.library("storm").toString();
        Skip.unless(mostSamples() > 2 * 20_000, "the kernel allows too few samples a second for a storm: it would slow it down");
        Skip.unless(dear(), "interrupts are too cheap here to be a storm");

        Run ours = stormy("ours", report -> report.engineStopped() || said(report, GOES_ON));
        List<String> notes = notes(ours);
        Check.equal(2, notes.size(), "what the governor did: " + notes);
        Check.contains(notes.get(0), RARER, "first");
        Check.contains(notes.get(1), "the engine is stopped", "then");
        // The timeline has both reactions of the governor, each after a pause.
        Check.atLeast(2, ours.profile().markers("vouch_paused").size(), "pauses in the timeline");
        Check.atLeast(1, ours.profile().markers("vouch_lengthened").size(), "where sampling gets rarer in the timeline");
        Check.equal(1, ours.profile().markers("vouch_stopped").size(), "where sampling ends in the timeline");

        Run others = stormy("others", report -> said(report, GOES_ON) || said(report, RARER));
        notes = notes(others);
        Check.equal(1, notes.size(), "what the governor did: " + notes);
        Check.contains(notes.get(0), GOES_ON, "others' storm");
        Check.equal(false, others.report().engineStopped(), "stopped for others' storm");
        Check.atLeast(1, others.profile().markers("vouch_paused").size(), "pauses in the timeline");
    }

    private static long mostSamples() throws IOException {
        Path setting = Paths.get("/proc/sys/kernel/perf_event_max_sample_rate");
        return Files.exists(setting) ? Long.parseLong(Files.readAllLines(setting).get(0)) : 0;
    }

    /**
     * Says whether interrupts are slow enough here for a storm. The agent's own measurement is
     * sometimes too low, so there are several tries. Skips the test unless perf is the engine.
     */
    private static boolean dear() {
        for (int i = 0; i < TRIES; i++) {
            Report report = Vm.with("interval=50us").run(Burning.class).ok().report();
            Skip.unless(report.engine().equals("perf"), "perf is not taken here: " + report.engineNotes());
            double every = report.sampledIntervalUs();
            Skip.unless(every <= TOO_DEAR_US, "a storm would take a whole core: signals come every " + every + " us here");
            if (every >= DEAR_US) {
                return true;
            }
        }
        return false;
    }

    /**
     * Repeats the run until the governor has noticed the storm, and checks what holds in any case.
     */
    private static Run stormy(String whose, Predicate<Report> seen) {
        for (int i = 0; i < TRIES; i++) {
            Run run = Vm.with("engine=perf").env("LD_PRELOAD", storm).env("STORM", whose).flags("-Xmx64m")
                .run(Program.class);
            Skip.unless(run.exit != 77, "timers of a whole core are not allowed here");
            run.ok();
            Check.contains(run.out, "burnt", "output");
            Report report = run.report();
            report.checkConserved("burner");
            for (String note : notes(report)) {
                Check.contains(run.vouchLines(), "[vouch] " + note, "stderr");
            }
            if (seen.test(report)) {
                return run;
            }
        }
        Skip.unless(false, "the storm did not last, " + TRIES + " times");
        return null;
    }

    private static boolean said(Report report, String beginning) {
        return notes(report).stream().anyMatch(note -> note.startsWith(beginning));
    }

    private static List<String> notes(Run run) {
        return notes(run.report());
    }

    /** What the governor did about timer interrupts, without what it did about a slower handler. */
    private static List<String> notes(Report report) {
        List<String> notes = report.engineNotes();
        notes.removeIf(note -> !note.matches(".*a core ha[sd] [0-9]+ timer interrupts.*"));
        return notes;
    }

    static class Program {
        public static void main(String[] args) throws InterruptedException {
            long end = System.nanoTime() + SECONDS * 1_000_000_000L;
            Thread burner = new Thread(() -> {
                while (System.nanoTime() < end) {
                    Burn.millis(10);
                }
            }, "burner");
            burner.start();
            burner.join();
            System.out.println("burnt");
        }
    }
}
