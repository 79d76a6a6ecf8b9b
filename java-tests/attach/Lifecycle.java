/*
 * Controls several recordings in a running JVM: start, status, dump, stop, and a start with other
 * options. The last recording ends only with the JVM. Users do this to services that they may not
 * restart. Each file must be whole and contain only what ran in its own time. A user's mistake must
 * not harm the service.
 *
 * @test
 * @summary start, status, dump, stop and start again in a running JVM
 * @key attach newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main Lifecycle
 */

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Scanner;
import java.util.TreeSet;

import dev.vouch.test.Attach;
import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Profile;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Track;
import dev.vouch.test.Vm;

public class Lifecycle {
    private static final int BURNT_MS = 100;

    private final Running child;
    private final Attach attach;

    private Lifecycle(Running child, Attach attach) {
        this.child = child;
        this.attach = attach;
    }

    public static void main(String[] args) throws IOException {
        try (Running child = Vm.without().start(Service.class)) {
            child.awaitOut("ready");
            try (Attach attach = Attach.to(child)) {
                Lifecycle life = new Lifecycle(child, attach);
                life.noRecording();
                life.firstRecording();
                life.secondRecording();
                life.lastRecording();
            }
            child.stdin().println("exit");
            ended(child.waitFor());
        }
    }

    /**
     * Without a recording, the service prints an error for each mistaken command and runs on.
     */
    private void noRecording() throws IOException {
        for (String verb : new String[] {"status", "stop", "dump"}) {
            attach.mustNot(verb);
        }
        child.awaitErr("[vouch] no recording is running");
        attach.mustNot("intervall=1ms,engine=prof");
        child.awaitErr("[vouch] unknown key intervall: did you mean interval?");
        child.awaitErr("[vouch] engine=prof: must be one of auto, perf, timer, itimer");
        attach.mustNot("start,stop");
        child.awaitErr("[vouch] more than one of start, stop, dump, status, groups and check");
        attach.mustNot("out=/nowhere/at/all.json");
        child.awaitErr("[vouch] the folder of /nowhere/at/all.json does not exist");
        attach.must("help");
        child.awaitErr("[vouch] Vouch, a sampling profiler");
        attach.must("version");
        child.awaitErr("[vouch] vouch ");
        Check.empty(files(), "files of mistakes and questions");
        burn("before");
    }

    private void firstRecording() throws IOException {
        attach.must("start,out=" + file("a.json") + ",report=" + file("a-report.json") + ",engine=timer,interval=1ms");
        Check.equal("[a.vouch]", files().toString(), "files before any was asked for: the recording alone");
        attach.mustNot("start,out=" + file("other.json"));
        child.awaitErr("[vouch] a recording is running already: stop it first (`vouch stop " + child.pid() + "`)");
        attach.mustNot("stop,interval=2ms");
        child.awaitErr("[vouch] interval has no meaning beside stop");
        String status = "";
        // The status line includes samples some time after they were taken.
        for (int times = 0; times < 20 && !status.contains(" % of Java proven"); times++) {
            burn("one");
            attach.must("status");
            status = child.awaitErr("[vouch] recording for ");
        }
        Check.that(status.matches(".* s: [\\d.]+ % of Java proven, 0 dropped, [1-9][\\d,]* signals \\([\\d,]+/s\\); [\\d.]+ % of Java unwalked; "
            + "engine timer at 1ms; room for stacks \\d+ %"), "status: " + status);
        Check.atMost(79, status.indexOf(" signals"), "column of 80 where the counts end: " + status);

        attach.must("dump");
        Check.equal("[a-report.json, a.json, a.vouch]", files().toString(), "files after the dump");
        holds("a.json", 1, "one");
        Report dumped = Report.read(file("a-report.json"));

        burn("two");
        attach.must("dump,out=" + file("dump.json"));
        holds("dump.json", 1, "one", "two");
        holds("a.json", 1, "one");

        burn("three");
        attach.must("stop");
        holds("a.json", 1, "one", "two", "three");
        Report stopped = Report.read(file("a-report.json"));
        Check.atLeast(dumped.weightMs("signals") + 1.6 * BURNT_MS, stopped.weightMs("signals"), "weight at the stop");
        Check.equal("timer", stopped.engine(), "engine");
        stopped.checkConserved("main");
        attach.mustNot("stop");
    }

    private void secondRecording() {
        burn("between");
        attach.must("out=" + file("b.folded") + ",report=" + file("b-report.json") + ",engine=itimer,interval=4ms,depth=8");
        burn("four");
        attach.must("stop,out=" + file("c.json"));
        Check.that(!Files.exists(file("b.folded")), "stop named another file, but b.folded is there");
        Profile profile = holds("c.json", 4, "four");
        Check.contains(profile.functions(), "[frames left out]", "functions under depth=8");
        Report report = Report.read(file("b-report.json"));
        Check.equal("itimer", report.engine(), "engine of the second recording");
        report.checkConserved("main");
        Check.near(4000, report.intervalUs(), 1e-6, "interval of the second recording");
    }

    private void lastRecording() {
        attach.must("start,out=" + file("last.json") + ",report=" + file("last-report.json"));
        burn("five");
    }

    private static void ended(Run run) {
        Check.equal(12, run.exit, "exit code of the service");
        List<String> stray = run.otherErr();
        // From JDK 21 on, the JVM itself warns about agents that are loaded late.
        stray.removeIf(line -> line.startsWith("WARNING: "));
        Check.empty(stray, "lines on the service's stderr that are not Vouch's");
        int refused = run.err.indexOf("[vouch] a recording is running already: stop it first");
        Check.that(!run.err.get(refused + 1).contains("nothing is profiled"), "a recording runs, but the message denies it: " + run.err);
        TreeSet<String> files = run.files();
        Check.equal("[a-report.json, a.json, b-report.json, c.json, dump.json, last-report.json, last.json]", files.toString(), "files");
        holds(run.dir.resolve("last.json"), 1, "five");
        Report.read(run.dir.resolve("last-report.json")).checkConserved("main");
    }

    private Profile holds(String name, int intervalMs, String... burns) {
        return holds(file(name), intervalMs, burns);
    }

    /** Asserts that the file contains exactly these burns, each with its CPU time. */
    private static Profile holds(Path file, int intervalMs, String... burns) {
        Profile profile = Profile.read(file);
        for (String step : Service.STEPS) {
            Track main = profile.track("main");
            if (Arrays.asList(burns).contains(step)) {
                main.checkRan("Lifecycle$Service." + step, BURNT_MS, 1, intervalMs);
            } else {
                Check.equal(0, main.weightOf("Lifecycle$Service." + step), "weight of " + step + " in " + file.getFileName());
            }
        }
        return profile;
    }

    private void burn(String step) {
        child.stdin().println(step);
        child.awaitOut("burnt " + step);
    }

    private Path file(String name) {
        return child.dir.resolve(name);
    }

    private TreeSet<String> files() {
        return Run.files(child.dir);
    }

    /** Runs the steps that it reads from standard input. */
    static class Service {
        static final String[] STEPS = {"before", "one", "two", "three", "between", "four", "five"};

        public static void main(String[] args) {
            deep(10);
        }

        /** Recurses, so that a small depth= truncates the stack. */
        private static void deep(int left) {
            if (left > 0) {
                deep(left - 1);
                return;
            }
            System.out.println("ready");
            Scanner in = new Scanner(System.in);
            for (String step = in.nextLine(); !step.equals("exit"); step = in.nextLine()) {
                run(step);
                System.out.println("burnt " + step);
            }
            System.exit(12);
        }

        private static void run(String step) {
            switch (step) {
                case "before":
                    before();
                    break;
                case "one":
                    one();
                    break;
                case "two":
                    two();
                    break;
                case "three":
                    three();
                    break;
                case "between":
                    between();
                    break;
                case "four":
                    four();
                    break;
                case "five":
                    five();
                    break;
                default:
                    throw new IllegalArgumentException(step);
            }
        }

        private static void before() {
            Burn.millis(BURNT_MS);
        }

        private static void one() {
            Burn.millis(BURNT_MS);
        }

        private static void two() {
            Burn.millis(BURNT_MS);
        }

        private static void three() {
            Burn.millis(BURNT_MS);
        }

        private static void between() {
            Burn.millis(BURNT_MS);
        }

        private static void four() {
            Burn.millis(BURNT_MS);
        }

        private static void five() {
            Burn.millis(BURNT_MS);
        }
    }
}
