/*
 * The system may refuse an engine: containers usually forbid perf_event_open. Then engine=auto must
 * choose the next best engine and say why. But an explicit engine must never be silently replaced.
 * `vouch doctor` says where the next best engine is biased.
 *
 * @test
 * @summary a refused engine: auto falls back and says why, an explicit one stops the JVM
 * @key perf newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main Refused
 */

import java.io.IOException;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;

import dev.vouch.test.Burning;
import dev.vouch.test.CCompiler;
import dev.vouch.test.Check;
import dev.vouch.test.Refusal;
import dev.vouch.test.Run;
import dev.vouch.test.Skip;
import dev.vouch.test.Tool;
import dev.vouch.test.Vm;

public class Refused {
    private static final String EPERM = "1";
    private static final String ENOSYS = "38";
    private static final String EAGAIN = "11";

    private static String refuse;

    public static void main(String[] args) throws IOException {
        refuse = CCompiler.program("refuse").toString();
        Run probe = Vm.without().launcher(refuse, EPERM, "perf_event_open").run(Burning.class);
        Skip.unless(probe.exit != 77, "a seccomp filter may not be set here: " + probe.err);
        probe.ok();

        note(auto("poll", refuse, EPERM, "perf_event_open"), "perf was not taken: ", "seccomp");
        note(auto("poll", refuse, ENOSYS, "perf_event_open"), "perf was not taken: ", "seccomp");
        Run single = auto("timer", "taskset", "-c", "0", refuse, EPERM, "perf_event_open");
        note(single, "perf was not taken: ", "seccomp");
        note(single, "poll was not taken: ", "two processors");
        Run both = auto("itimer", "taskset", "-c", "0", refuse, EAGAIN, "perf_event_open,timer_create");
        note(both, "perf was not taken: ", "perf_event_open failed");
        note(both, "timer was not taken: ", "ulimit -i");

        doctor("engine=poll .* biased within threads that wait more than 10,000 times", refuse, EPERM, "perf_event_open");
        doctor("engine=timer .* biased within threads that wait more than 1,000 times",
            "taskset", "-c", "0", refuse, EPERM, "perf_event_open");

        Refusal.of(Vm.with("engine=perf").noFiles().launcher(refuse, EPERM, "perf_event_open"),
            "engine=perf does not work here", "seccomp", "try engine=auto");
        Refusal.of(Vm.with("engine=timer").noFiles().launcher(refuse, EAGAIN, "timer_create"),
            "engine=timer does not work here", "ulimit -i", "try engine=auto");
        Refusal.of(Vm.with("engine=poll").noFiles().launcher("taskset", "-c", "0"),
            "engine=poll does not work here", "two processors", "try engine=auto");
        // This error is printed together with all other errors in the options.
        Refusal.of(Vm.with("engine=perf,out=/nowhere/at/all.json").noFiles().launcher(refuse, EPERM, "perf_event_open"),
            "engine=perf does not work here", "the folder of /nowhere/at/all.json does not exist");
    }

    private static Run auto(String engine, String... launcher) {
        Run run = Vm.with("verbose,interval=1ms").launcher(launcher).run(Burning.class).ok();
        Check.equal(engine, run.report().engine(), "engine of " + String.join(" ", launcher));
        run.report().checkConserved("main");
        run.profile().track("main").checkRan(Burning.METHOD, run.number("cpu_ms"));
        return run;
    }

    private static void doctor(String bias, String... launcher) throws IOException {
        Run doctor = Tool.start(Paths.get("").toAbsolutePath(), Arrays.asList(launcher), "doctor").waitFor().ok();
        Check.equal(1L, doctor.out.stream().filter(Pattern.compile(bias).asPredicate()).count(), "lines <" + bias + "> of " + doctor.out);
    }

    /** Asserts that the report and the summary have the same sentence. */
    private static void note(Run run, String beginning, String part) {
        List<String> notes = run.report().engineNotes();
        notes.removeIf(note -> !note.startsWith(beginning));
        Check.equal(1, notes.size(), "notes that begin <" + beginning + "> of " + run.report().engineNotes());
        Check.contains(notes.get(0), part, "note");
        Check.contains(run.vouchLines(), "[vouch] " + notes.get(0), "summary");
    }
}
