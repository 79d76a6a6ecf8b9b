package dev.vouch.lab;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * Writes docs/asyncgetcalltrace-programs.md: each known AsyncGetCallTrace failure and its
 * reproducer.
 */
final class Programs {
    static final String NAME = "asyncgetcalltrace-programs.md";

    private final List<Build> builds;
    private final List<Failure> failures;
    private final Markdown text = new Markdown();

    Programs(List<Build> builds, List<Failure> failures) {
        this.builds = builds;
        this.failures = failures;
    }

    String text() {
        text.heading("# Why AsyncGetCallTrace is wrong, with programs that show it");
        text.paragraph("Each section explains one known failure of AsyncGetCallTrace and has the shortest program that shows it."
            + " [asyncgetcalltrace.md](asyncgetcalltrace.md) has all cases and builds, and explains the kinds of difference.");
        text.paragraph("Compile a program with `java-tests/lib` on the source path. Run it with"
            + " `-agentpath:…/libvouch_lab.so=lab -Djava.library.path=…` and with the flags that its section names. It prints both"
            + " stacks side by side: `-` marks a frame that the walk lacks, `+` one too many, `!` one that is different.");
        failures.forEach(this::failure);
        return text.toString();
    }

    private void failure(Failure failure) {
        text.heading("## " + failure.title);
        failure.paragraphs().forEach(text::paragraph);
        Set<String> seen = failure.seenOn(builds);
        boolean asked = builds.stream().anyMatch(build -> build.rows.stream().anyMatch(row -> failure.isShownBy(row.name())));
        String where = seen.isEmpty() ? (asked ? "Seen on none of these builds" : "Not asked in this run") : "Seen on " + String.join(", ", seen);
        text.paragraph(where + ". The cases: " + String.join(", ", failure.cases) + ".");
        Set<String> agreeing = new LinkedHashSet<>(seen);
        builds.forEach(build -> build.rows.stream()
            .filter(row -> failure.isShownBy(row.name()) && row.outcome().equals("differs") && !row.ownAgrees())
            .forEach(row -> agreeing.remove(build.column())));
        if (!agreeing.isEmpty()) {
            text.paragraph("Vouch's own walker is right in all of them on " + String.join(", ", agreeing) + ".");
        }
        text.paragraph("`java-tests/lab/minimal/" + failure.file + "` shows " + failure.shown() + options(failure) + ":");
        text.line("");
        text.line("```java");
        text.line(failure.program.trim());
        text.line("```");
    }

    private static String options(Failure failure) {
        List<String> options = new ArrayList<>();
        if (!failure.agent.equals("lab")) {
            options.add("the agent option `" + failure.agent + "`");
        }
        if (!failure.flags.isEmpty()) {
            options.add("`" + failure.flags + "`");
        }
        return options.isEmpty() ? "" : ", with " + String.join(" and ", options);
    }
}
