package dev.vouch.lab;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;

import dev.vouch.test.Attach;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Vm;

/**
 * Runs a scenario's cases in child JVMs. If a JVM crashes or hangs, its current case gets that
 * result, and a new JVM runs the remaining cases. A broken build must not end the run.
 */
final class Children {
    private final Scenario scenario;
    private final Mode mode;

    Children(Scenario scenario, Mode mode) {
        this.scenario = scenario;
        this.mode = mode;
    }

    /** Runs cases that can share a JVM, and returns a result for each. */
    List<Result> run(List<String> cases) {
        List<Result> results = new ArrayList<>();
        while (results.size() < cases.size()) {
            List<String> left = cases.subList(results.size(), cases.size());
            results.addAll(once(left));
        }
        return results;
    }

    /** Runs one JVM, and returns results for the cases that it reached: at least one. */
    private List<Result> once(List<String> cases) {
        List<String> args = new ArrayList<>(cases);
        args.add(0, "--child");
        String options = scenario.agentOptions(cases.get(0));
        Vm vm = (options == null ? Vm.without() : Vm.lab(options)).noFiles().timeout(patience())
            .flags(mode.flags).flags("-Djava.library.path=" + Vm.labAgent().getParent()).flags(scenario.flags(cases.get(0)));
        Run run;
        try (Running child = vm.start(scenario.getClass(), args.toArray(new String[0]))) {
            if (options == null) {
                attach(child);
            }
            run = child.waitForAnyEnd();
        }
        List<Result> results = read(run, cases);
        if (results.isEmpty()) {
            // This JVM did not reach its first case, and another one would not either.
            String why = firstOf(run.err, run.out);
            boolean flag = run.exit == 1 && refusesFlag(why);
            for (String name : cases) {
                Result result = new Result(scenario, name, mode);
                results.add(flag ? result.unfit(why) : result.broken(run.exit == 1 ? "refused" : howItEnded(run), why));
            }
        }
        return results;
    }

    /** Returns the results of the cases that began. The last case may not have ended. */
    private List<Result> read(Run run, List<String> cases) {
        List<Result> results = new ArrayList<>();
        Result current = null;
        boolean ended = true;
        for (String line : run.err) {
            String[] words = line.split("\t", 3);
            if (words.length < 3 || !words[0].equals("LAB")) {
                continue;
            }
            if (words[1].equals("begin")) {
                current = new Result(scenario, words[2], mode);
                results.add(current);
                ended = false;
            } else if (words[1].equals("end")) {
                ended = true;
            } else if (current != null) {
                current.take(words[1], words[2]);
            }
        }
        for (Result result : results) {
            result.checkNeeds(run.out);
        }
        if (!ended) {
            current.broken(howItEnded(run), lastWords(run));
        } else if (current != null && (run.timedOut || run.exit != 0)) {
            current.broken(howItEnded(run), "after its last case: " + lastWords(run));
        }
        return results;
    }

    /**
     * Returns a child's timeout. It grows once jtreg's timeout factor exceeds 4, as it does under
     * an emulator.
     */
    private Duration patience() {
        double factor = Double.parseDouble(System.getProperty("test.timeout.factor", "1"));
        return Duration.ofSeconds((long) (scenario.patience() * Math.max(1, factor / 4)));
    }

    private static void attach(Running child) {
        String line = child.awaitErr("LAB\tattach");
        try (Attach attach = Attach.to(child)) {
            int code = attach.load(Vm.labAgent(), line.split("\t", 3)[2]);
            child.stdin().println(code == 0 ? "+" : "-");
        }
    }

    private static String howItEnded(Run run) {
        if (run.timedOut) {
            return "hung";
        }
        return run.exit == 134 || run.exit == 139 || run.exit == 137 ? "crashed" : "died";
    }

    /** Returns a dead child's last message: the JVM's crash header, else an exception. */
    private static String lastWords(Run run) {
        for (List<String> lines : Arrays.asList(run.out, run.err)) {
            for (int i = 0; i < lines.size(); i++) {
                if (lines.get(i).startsWith("# Problematic frame") || lines.get(i).startsWith("#  Internal Error")) {
                    return String.join(" ", lines.subList(i, Math.min(i + 2, lines.size())));
                }
                if (lines.get(i).startsWith("Exception in thread")) {
                    return String.join(" ", lines.subList(i, Math.min(i + 3, lines.size())));
                }
            }
        }
        return "exit code " + run.exit;
    }

    private static String firstOf(List<String> err, List<String> out) {
        List<String> lines = new ArrayList<>(err);
        lines.addAll(out);
        return lines.isEmpty() ? "it said nothing" : String.join(" ", lines.subList(0, Math.min(2, lines.size())));
    }

    private static boolean refusesFlag(String why) {
        return Pattern.compile("Unrecognized (VM )?option|is obsolete|not supported|Conflicting|Could not create").matcher(why).find();
    }
}
