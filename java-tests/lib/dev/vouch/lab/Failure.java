package dev.vouch.lab;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * One known failure of AsyncGetCallTrace: a minimal program in java-tests/lab/minimal.
 *
 * The program's head comment describes the failure. Its first line is the title. `Seen in: A.x B.*`
 * names the cases that show the failure. `Shows: KINDS on 8-` (or `8-11`, or `8- of x86-64`) lists
 * the kinds of difference and the JDKs. `Run: …` has the flags that the program needs. `Agent: …`
 * has the agent's options, if they are not `lab`. All other lines are the description.
 */
final class Failure {
    private static final Pattern SHOWS = Pattern.compile("(.*) on (\\d+)-(\\d*)( of x86-64)?");

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

    /** Returns the description, without line breaks within a paragraph. */
    List<String> paragraphs() {
        List<String> paragraphs = new ArrayList<>();
        for (String paragraph : String.join("\n", description).trim().split("\n\n+")) {
            paragraphs.add(paragraph.replace('\n', ' '));
        }
        return paragraphs;
    }

    /** Describes in words which kinds the program shows, on which JDKs. */
    String shown() {
        Matcher parts = SHOWS.matcher(shows);
        if (!parts.matches()) {
            throw new IllegalArgumentException(file + ": \"Shows: " + shows + "\" is not like \"truncated on 8-11\"");
        }
        String kinds = "`" + parts.group(1).replace(" and ", "` and `") + "`";
        String jdks = parts.group(3).isEmpty() ? parts.group(2) + " and later" : parts.group(2) + " to " + parts.group(3);
        return kinds + " on JDK " + jdks + (parts.group(4) == null ? "" : parts.group(4).replace("of", "for"));
    }

    /** Returns the columns of the builds with a case that shows this failure. */
    Set<String> seenOn(List<Build> builds) {
        Set<String> seen = new LinkedHashSet<>();
        builds.forEach(build -> build.rows.stream()
            .filter(row -> isShownBy(row.name()) && !row.kinds().isEmpty() && row.outcome().equals("differs"))
            .forEach(row -> seen.add(build.column())));
        return seen;
    }

    /** True if the case `Scenario.name` shows this failure. */
    boolean isShownBy(String name) {
        return cases.stream().anyMatch(one -> one.endsWith(".*") ? name.startsWith(one.substring(0, one.length() - 1)) : name.equals(one));
    }
}
