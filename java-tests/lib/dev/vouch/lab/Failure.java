package dev.vouch.lab;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

/**
 * One known failure of AsyncGetCallTrace: a minimal program in java-tests/lab/minimal, whose head comment describes it.
 *
 * The comment's first line is the title. A line `Seen in: A.x B.*` names the cases that show it, `Shows: KINDS on 8-` (or
 * `8- of x86-64`) what the program shows and where, `Run: …` the flags that it needs, `Agent: …` other options of the agent's than `lab`. The rest
 * is the description.
 */
final class Failure {
    final String file;
    final String title;
    final List<String> description = new ArrayList<>();
    final List<String> cases = new ArrayList<>();
    String flags = "";
    String agent = "lab";
    String shows = "";
    final String program;

    private Failure(String file, List<String> lines) {
        this.file = file;
        title = lines.get(1).replaceFirst("^ \\* ?", "");
        int end = lines.indexOf(" */");
        for (String line : lines.subList(2, end)) {
            String text = line.replaceFirst("^ \\* ?", "");
            if (text.startsWith("Seen in: ")) {
                cases.addAll(java.util.Arrays.asList(text.substring(9).trim().split(" ")));
            } else if (text.startsWith("Run: ")) {
                flags = text.substring(5).trim();
            } else if (text.startsWith("Agent: ")) {
                agent = text.substring(7).trim();
            } else if (text.startsWith("Shows: ")) {
                shows = text.substring(7).trim();
            } else {
                description.add(text);
            }
        }
        program = String.join("\n", lines.subList(end + 1, lines.size()));
    }

    static List<Failure> all(Path folder) throws IOException {
        TreeSet<Path> files = new TreeSet<>();
        try (DirectoryStream<Path> found = Files.newDirectoryStream(folder, "*.java")) {
            found.forEach(files::add);
        }
        List<Failure> all = new ArrayList<>();
        for (Path file : files) {
            all.add(new Failure(file.getFileName().toString(), Files.readAllLines(file, StandardCharsets.UTF_8)));
        }
        return all;
    }

    /** True if the case `Scenario.name` shows this failure. */
    boolean isShownBy(String name) {
        return cases.stream().anyMatch(one -> one.endsWith(".*") ? name.startsWith(one.substring(0, one.length() - 1)) : name.equals(one));
    }
}
