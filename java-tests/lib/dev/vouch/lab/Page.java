package dev.vouch.lab;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;

import com.google.gson.JsonObject;

/**
 * The matrix as a page of Markdown: where each build differs, how very many suspended threads compared, and each known
 * failure with a program that shows it.
 */
final class Page {
    private final List<Build> builds;
    private final List<Failure> failures;
    private final StringBuilder text = new StringBuilder();

    Page(List<Build> builds, List<Failure> failures) {
        this.builds = builds;
        this.failures = failures;
    }

    String text() {
        line("# Where AsyncGetCallTrace is wrong");
        line("");
        line("AsyncGetCallTrace (the walk) against JVMTI GetStackTrace (the witness) of the same thread at the same moment. Made by");
        line("`scripts/jdk-matrix`; `java-tests/README.md` says what is asked and how. Every figure here is of one run.");
        line("");
        line("The method on top of compiled code is not compared here, since both are asked at a call. Between calls AsyncGetCallTrace");
        line("often names another inlined method: [a program that shows it](trial.md#topmethod-what-no-audit-can-see).");
        line("");
        line("The kinds: `truncated` outermost frames are missing; `gap` frames are missing within or at the leaf; `extra` frames");
        line("that are not there; `wrong_method`, `wrong_bci`, `null_method` a frame that is another, elsewhere, or nothing;");
        line("`nativeness` native taken for Java or the reverse; `cut` the walk ended at the depth asked for; `unwalked` no frames.");
        line("A cell has the kind, frames of the walk / of the witness in the first mode that differs, and the modes if it is not");
        line("all of them (mixed, xint, xcomp, c1, and mixed with hidden frames shown). `=` is no difference, `–` the case does");
        line("not exist there, an empty cell was not run. Behind `own` stands the same of Vouch's own walker (`docs/walkers.md`), which");
        line("was asked at the same moment: `own =` where it agrees with the witness, though AsyncGetCallTrace does not.");
        builds();
        news();
        differences();
        agreements();
        suspended();
        failures();
        return text.toString();
    }

    private void line(String line) {
        text.append(line).append('\n');
    }

    private void builds() {
        line("");
        line("## The builds");
        line("");
        line("| build | cases × modes | agree | differ as known | of these the own walker agrees | news | cannot exist there |");
        line("|---|---|---|---|---|---|---|");
        for (Build build : builds) {
            if (build.missing != null) {
                line("| " + build.label + " | not run: " + build.missing + " | | | | | |");
                continue;
            }
            long unfit = build.rows.stream().filter(row -> row.outcome().equals("unfit")).count();
            long same = build.rows.stream().filter(row -> row.outcome().equals("same") && row.news().isEmpty()).count();
            long news = build.rows.stream().filter(row -> !row.news().isEmpty()).count();
            long known = build.rows.size() - unfit - same - news;
            long mended = build.rows.stream().filter(row -> row.news().isEmpty() && !row.kinds().isEmpty() && row.ownAgrees()).count();
            line("| " + build.label + " | " + build.rows.size() + " | " + same + " | " + known + " | " + mended + " | " + news + " | " + unfit + " |");
        }
    }

    private void news() {
        if (builds.stream().allMatch(build -> build.news().isEmpty())) {
            return;
        }
        line("");
        line("## News: what is not as java-tests/lab/expectations.txt has it");
        line("");
        builds.forEach(build -> build.news().forEach(one -> line("- " + build.label + ": " + one)));
    }

    private void header(String first) {
        StringBuilder head = new StringBuilder("| " + first + " |");
        StringBuilder rule = new StringBuilder("|---|");
        for (Build build : builds) {
            head.append(' ').append(build.column()).append(" |");
            rule.append("---|");
        }
        line("");
        line(head.toString());
        line(rule.toString());
    }

    /** The cases of any build, in order. */
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
        line("");
        line("## What differs");
        header("case");
        for (String name : names()) {
            if (differs(name) && !name.startsWith("Suspended.")) {
                StringBuilder cells = new StringBuilder("| " + name + " |");
                builds.forEach(build -> cells.append(' ').append(cell(rows(build, name))).append(" |"));
                line(cells.toString());
            }
        }
    }

    /** One case on one build: its kinds with the modes in which they were seen, of AsyncGetCallTrace and of our own walker. */
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

    /** The kinds of difference, each with the modes in which it was seen if that is not all of them. */
    private static String kinds(List<Build.Row> asked, Function<Build.Row, Set<String>> kinds) {
        Map<String, Set<String>> modes = new TreeMap<>();
        asked.forEach(row -> kinds.apply(row).forEach(kind -> modes.computeIfAbsent(kind, key -> new LinkedHashSet<>()).add(row.mode())));
        List<String> parts = new ArrayList<>();
        modes.forEach((kind, seen) -> parts.add(kind + (seen.size() == asked.size() ? "" : " (" + String.join(", ", seen) + ")")));
        return String.join(", ", parts);
    }

    private void agreements() {
        line("");
        line("## What agrees everywhere");
        line("");
        Map<String, List<String>> agreeing = new TreeMap<>();
        for (String name : names()) {
            boolean asked = builds.stream().anyMatch(build -> rows(build, name).stream().anyMatch(row -> row.outcome().equals("same")));
            if (asked && !differs(name)) {
                int dot = name.indexOf('.');
                agreeing.computeIfAbsent(name.substring(0, dot), key -> new ArrayList<>()).add(name.substring(dot + 1));
            }
        }
        agreeing.forEach((scenario, cases) -> line("- " + scenario + ": " + String.join(", ", cases)));
    }

    private void suspended() {
        line("");
        line("## Suspended threads of real programs");
        line("");
        line("Questions by what came of them: threads of javac compiling java.xml and of a web server, stopped where they were.");
        line("A thread that stands in the VM, at a safepoint, is where AsyncGetCallTrace does worst; one that uses the processor,");
        line("as a profiler finds it, is seldom there.");
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
            line(cells.toString());
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

    private void failures() {
        line("");
        line("## Each failure, and a program that shows it");
        line("");
        line("Compile the program with `java-tests/lib` on the source path and run it with");
        line("`-agentpath:…/libvouch.so=lab -Djava.library.path=…` and the flags that are named here. It prints both accounts side by");
        line("side: `-` is missing in the walk, `+` too much, `!` different.");
        for (Failure failure : failures) {
            line("");
            line("### " + failure.title);
            failure.description.forEach(this::line);
            Set<String> seen = new LinkedHashSet<>();
            builds.forEach(build -> build.rows.stream()
                .filter(row -> failure.isShownBy(row.name()) && !row.kinds().isEmpty() && row.outcome().equals("differs"))
                .forEach(row -> seen.add(build.column())));
            Set<String> mended = new LinkedHashSet<>(seen);
            builds.forEach(build -> build.rows.stream()
                .filter(row -> failure.isShownBy(row.name()) && !row.kinds().isEmpty() && !row.ownAgrees()).forEach(row -> mended.remove(build.column())));
            line("");
            boolean asked = builds.stream().anyMatch(build -> build.rows.stream().anyMatch(row -> failure.isShownBy(row.name())));
            String where = seen.isEmpty() ? (asked ? "Seen on none of these builds" : "Not asked in this run") : "Seen on " + String.join(", ", seen);
            line(where + "; the cases: " + String.join(", ", failure.cases) + ".");
            if (!mended.isEmpty()) {
                line("Vouch's own walker is right in all of them on " + String.join(", ", mended) + ".");
            }
            String options = (failure.agent.equals("lab") ? "" : "agent option `" + failure.agent + "` ") + (failure.flags.isEmpty() ? "" : "`" + failure.flags + "`");
            line("`java-tests/lab/minimal/" + failure.file + "` shows " + failure.shows + (options.isEmpty() ? "" : ", with " + options.trim()) + ":");
            line("");
            line("```java");
            line(failure.program.trim());
            line("```");
        }
    }
}
