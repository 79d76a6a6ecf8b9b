package dev.vouch.lab;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;

import com.google.gson.JsonObject;

/**
 * Writes docs/asyncgetcalltrace.md: the known failures, the builds, and each build's differences.
 */
final class Page {
    private final List<Build> builds;
    private final List<Failure> failures;
    private final Markdown text = new Markdown();

    Page(List<Build> builds, List<Failure> failures) {
        this.builds = builds;
        this.failures = failures;
    }

    String text() {
        text.heading("# Where AsyncGetCallTrace is wrong");
        summary();
        reading();
        builds();
        news();
        differences();
        agreements();
        suspended();
        return text.toString();
    }

    private void summary() {
        text.paragraph("AsyncGetCallTrace leaves out, adds or changes frames in " + failures.size() + " known situations. This table lists"
            + " them, with the builds of this run that show them. Each link explains a failure and has a short program that shows it. The"
            + " tables below have every case that differs, also those without such a program.");
        text.line("");
        text.table(Arrays.asList("failure", "seen on"));
        for (Failure failure : failures) {
            Set<String> seen = failure.seenOn(builds);
            String link = "[" + failure.title + "](" + Programs.NAME + "#" + Markdown.anchor(failure.title) + ")";
            text.row(Arrays.asList(link, seen.isEmpty() ? "no build of this run" : String.join(", ", seen)));
        }
    }

    private void reading() {
        text.heading("## How to read the tables");
        text.paragraph("The truth lab puts a thread into a situation with a known stack. AsyncGetCallTrace (the walk) and JVMTI"
            + " GetStackTrace (the witness) then take the stack of the same thread at the same moment. `scripts/jdk-matrix` writes"
            + " this page; [java-tests/README.md](../java-tests/README.md#the-truth-lab) explains how the lab asks. Every number here is of one run.");
        text.paragraph("Both walks begin at a call, so this page does not compare the method on top of compiled code. Between calls"
            + " AsyncGetCallTrace often names another inlined method:"
            + " [a program that shows it](trial.md#topmethod-what-no-audit-can-see).");
        text.paragraph("The kinds of difference:");
        text.line("");
        text.table(Arrays.asList("kind", "meaning"));
        text.row(Arrays.asList("`truncated`", "the outermost frames are missing"));
        text.row(Arrays.asList("`gap`", "frames are missing within the stack or at the leaf"));
        text.row(Arrays.asList("`extra`", "the walk has frames that do not exist"));
        text.row(Arrays.asList("`wrong_method`", "a frame has another method"));
        text.row(Arrays.asList("`wrong_bci`", "a frame is at another bytecode index"));
        text.row(Arrays.asList("`null_method`", "a frame has no method"));
        text.row(Arrays.asList("`nativeness`", "a native frame is reported as Java, or the reverse"));
        text.row(Arrays.asList("`cut`", "the walk ended at the requested depth"));
        text.row(Arrays.asList("`unwalked`", "the walk has no frames"));
        text.paragraph("A cell has the kind, then the number of frames of the walk and of the witness (`3/9`) in the first mode that"
            + " differs. The modes are mixed, xint, xcomp, c1, and mixed with hidden frames shown (`hidden`). A cell names its modes"
            + " unless all of them differ. `=` means no difference. `–` means that the case does not exist on that build. An empty"
            + " cell was not run.");
        text.paragraph("`own` is the same comparison for Vouch's own walker ([walkers.md](walkers.md)) at the same moment."
            + " `own =` means that it agrees with the witness, although AsyncGetCallTrace does not.");
    }

    private void builds() {
        text.heading("## The builds");
        text.paragraph("A difference is known if java-tests/lab/expectations.txt lists it; otherwise it is new.");
        text.line("");
        text.table(Arrays.asList("build", "cases × modes", "agree", "known differences", "of these the own walker agrees", "new differences",
            "not possible there"));
        for (Build build : builds) {
            if (build.missing != null) {
                text.line("| " + build.label + " | not run: " + build.missing + " | | | | | |");
                continue;
            }
            long unfit = build.rows.stream().filter(row -> row.outcome().equals("unfit")).count();
            long same = build.rows.stream().filter(row -> row.outcome().equals("same") && row.news().isEmpty()).count();
            long news = build.rows.stream().filter(row -> !row.news().isEmpty()).count();
            long known = build.rows.size() - unfit - same - news;
            long mended = build.rows.stream().filter(row -> row.news().isEmpty() && !row.kinds().isEmpty() && row.ownAgrees()).count();
            text.line("| " + build.label + " | " + build.rows.size() + " | " + same + " | " + known + " | " + mended + " | " + news + " | " + unfit + " |");
        }
    }

    private void news() {
        if (builds.stream().allMatch(build -> build.news().isEmpty())) {
            return;
        }
        text.heading("## New: not in java-tests/lab/expectations.txt");
        builds.forEach(build -> build.news().forEach(one -> text.item(build.label + ": " + one)));
    }

    private void header(String first) {
        List<String> head = new ArrayList<>();
        head.add(first);
        builds.forEach(build -> head.add(build.column()));
        text.line("");
        text.table(head);
    }

    /** Returns the cases of all builds, in order. */
    private Set<String> names() {
        Set<String> names = new TreeSet<>();
        builds.forEach(build -> build.rows.forEach(row -> names.add(row.name())));
        return names;
    }

    private static List<Build.Row> rows(Build build, String name) {
        List<Build.Row> rows = new ArrayList<>(build.rows);
        rows.removeIf(row -> !row.name().equals(name));
        return rows;
    }

    private boolean differs(String name) {
        return builds.stream().anyMatch(build -> rows(build, name).stream().anyMatch(row -> !row.outcome().equals("unfit")
            && !(row.kinds().isEmpty() && row.ownKinds().isEmpty() && row.news().isEmpty())));
    }

    private void differences() {
        text.heading("## Cases that differ");
        text.paragraph("Each row is a case of the truth lab (`java-tests/lab`), each column a build.");
        header("case");
        for (String name : names()) {
            if (differs(name) && !name.startsWith("Suspended.")) {
                StringBuilder cells = new StringBuilder("| " + name + " |");
                builds.forEach(build -> cells.append(' ').append(cell(rows(build, name))).append(" |"));
                text.line(cells.toString());
            }
        }
    }

    /**
     * Formats one case on one build: the kinds and their modes, of AsyncGetCallTrace and our own
     * walker.
     */
    private static String cell(List<Build.Row> rows) {
        List<Build.Row> asked = new ArrayList<>(rows);
        asked.removeIf(row -> row.outcome().equals("unfit"));
        if (asked.isEmpty()) {
            return rows.isEmpty() ? "" : "–";
        }
        String walk = kinds(asked, Build.Row::kinds);
        String own = kinds(asked, Build.Row::ownKinds);
        String counts = asked.stream().map(Build.Row::counts).filter(one -> !one.isEmpty()).findFirst().orElse("");
        String text = walk.isEmpty() ? "=" : walk + (counts.isEmpty() ? "" : " " + counts);
        if (!own.isEmpty()) {
            return text + "; own " + own;
        }
        return walk.isEmpty() || !asked.stream().allMatch(Build.Row::ownAgrees) ? text : text + "; own =";
    }

    /** Formats the kinds of difference, each with its modes unless all modes show it. */
    private static String kinds(List<Build.Row> asked, Function<Build.Row, Set<String>> kinds) {
        Map<String, Set<String>> modes = new TreeMap<>();
        asked.forEach(row -> kinds.apply(row).forEach(kind -> modes.computeIfAbsent(kind, key -> new LinkedHashSet<>()).add(row.mode())));
        List<String> parts = new ArrayList<>();
        modes.forEach((kind, seen) -> parts.add(kind + (seen.size() == asked.size() ? "" : " (" + String.join(", ", seen) + ")")));
        return String.join(", ", parts);
    }

    private void agreements() {
        text.heading("## Cases that agree on every build");
        Map<String, List<String>> agreeing = new TreeMap<>();
        for (String name : names()) {
            boolean asked = builds.stream().anyMatch(build -> rows(build, name).stream().anyMatch(row -> row.outcome().equals("same")));
            if (asked && !differs(name)) {
                int dot = name.indexOf('.');
                agreeing.computeIfAbsent(name.substring(0, dot), key -> new ArrayList<>()).add(name.substring(dot + 1));
            }
        }
        agreeing.forEach((scenario, cases) -> text.item(scenario + ": " + String.join(", ", cases)));
    }

    private void suspended() {
        text.heading("## Suspended threads of real programs");
        text.paragraph("These tables count walks by outcome. The threads are those of javac, which compiles java.xml, and of a web"
            + " server; each was suspended wherever it was. AsyncGetCallTrace is worst for a thread inside the VM at a"
            + " safepoint. A thread that uses the processor, as a CPU profiler samples it, is seldom there.");
        for (String name : new String[] {"Suspended.javac", "Suspended.server"}) {
            tallies(name, name, "suspended");
            tallies(name + ", own walker", name, "own-suspended");
        }
    }

    private void tallies(String title, String name, String way) {
        Set<String> kinds = new TreeSet<>();
        builds.forEach(build -> counts(build, name, way).keySet().forEach(kinds::add));
        if (kinds.isEmpty()) {
            return;
        }
        header(title);
        for (String kind : kinds) {
            StringBuilder cells = new StringBuilder("| " + kind.replace(",", " + ") + " |");
            builds.forEach(build -> cells.append(' ').append(counts(build, name, way).getOrDefault(kind, "")).append(" |"));
            text.line(cells.toString());
        }
    }

    private static Map<String, String> counts(Build build, String name, String asked) {
        Map<String, String> counts = new TreeMap<>();
        for (Build.Row row : rows(build, name)) {
            JsonObject way = row.ways().getAsJsonObject(asked);
            if (way != null && way.has("counts")) {
                way.getAsJsonObject("counts").entrySet().forEach(one -> counts.put(one.getKey(), one.getValue().getAsString()));
            }
        }
        return counts;
    }
}
