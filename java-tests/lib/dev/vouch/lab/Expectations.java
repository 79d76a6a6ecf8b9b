package dev.vouch.lab;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;

import dev.vouch.test.Check;

/**
 * The known differences: the table in java-tests/lab/expectations.txt. The head of that file
 * explains its format.
 */
final class Expectations {
    static final String FILE = "lab/expectations.txt";

    private static final List<String> MODES = Arrays.asList("all", "mixed", "xint", "xcomp", "c1", "hidden");
    private static final Pattern KIND = Pattern.compile("\\??((own|(own-)?(direct|signal|suspended)):)?(truncated|gap|extra|wrong_method|wrong_bci|"
        + "null_method|nativeness|cut|unwalked:\\w+|crashed|hung|died|refused|untriggered)");

    /** One kind in a line of the table. */
    static final class Row {
        final int line;
        final String scenario;
        final String name;
        final List<String> modes;
        final int firstJdk;
        final int lastJdk;
        final String kind;
        /** True if the difference may be absent in a run. */
        final boolean mayBe;
        final String bug;
        final String why;

        private Row(int line, String[] cells, String oneKind) {
            this.line = line;
            int dot = cells[0].indexOf('.');
            Check.that(dot > 0, FILE + ":" + line + ": the first cell must be Scenario.case, is " + cells[0]);
            scenario = cells[0].substring(0, dot);
            name = cells[0].substring(dot + 1);
            modes = Arrays.asList(cells[1].split(" "));
            String place = FILE + ":" + line + ": ";
            for (String mode : modes) {
                Check.that(MODES.contains(mode), place + "there is no mode " + mode + "; the modes are " + MODES + ", with spaces between");
            }
            Check.that(cells[2].matches("\\d+(-\\d*)?"), place + "JDKs are written 17, 8-11 or 21-, not " + cells[2]);
            Check.that(KIND.matcher(oneKind).matches(), place + "there is no kind " + oneKind + "; they are like " + KIND);
            Path scenarios = Paths.get(System.getProperty("test.src", "."));
            Check.that(Files.exists(scenarios.resolve(scenario + ".java")), place + "there is no scenario " + scenario);
            String[] jdks = cells[2].split("-", -1);
            firstJdk = Integer.parseInt(jdks[0]);
            lastJdk = jdks.length == 1 ? firstJdk : jdks[1].isEmpty() ? Integer.MAX_VALUE : Integer.parseInt(jdks[1]);
            mayBe = oneKind.startsWith("?");
            kind = mayBe ? oneKind.substring(1) : oneKind;
            bug = cells[4];
            why = cells[5];
            Check.that(!bug.isEmpty() && !why.isEmpty(), FILE + ":" + line + ": a row says which bug it belongs to, or \"none known\", and why");
        }

        /** Parses a line into one row for each of its kinds. */
        private static List<Row> of(int line, String text) {
            String[] cells = text.split("\\s*\\|\\s*", -1);
            Check.equal(6, cells.length, FILE + ":" + line + ": cells of a row (scenario.case | modes | jdks | kinds | bug | why)");
            List<Row> rows = new ArrayList<>();
            for (String kind : cells[3].split(" ")) {
                rows.add(new Row(line, cells, kind));
            }
            return rows;
        }

        private boolean concerns(Result result, int jdk) {
            boolean mode = modes.contains("all") || modes.contains(result.mode.word());
            return scenario.equals(result.scenario) && names(result.name) && mode && firstJdk <= jdk && jdk <= lastJdk;
        }

        private boolean names(String oneCase) {
            return oneCase.matches("\\Q" + name.replace("*", "\\E.*\\Q") + "\\E");
        }

        /**
         * True if the row matches `found` (`WAY:KIND`, or an outcome). A row without a way matches
         * every way of AsyncGetCallTrace; with `own`, every way of our own walker.
         */
        boolean covers(String found) {
            String bare = found.substring(found.indexOf(':') + 1);
            return found.equals(kind) || (Result.isOwn(found) ? "own:" + bare : bare).equals(kind);
        }
    }

    private final List<Row> rows = new ArrayList<>();

    /** Reads the table from the tests' root folder. */
    static Expectations read() {
        Path file = Paths.get(System.getProperty("test.root", "."), FILE);
        Expectations all = new Expectations();
        try {
            int line = 0;
            for (String text : Files.readAllLines(file, StandardCharsets.UTF_8)) {
                line++;
                if (!text.trim().isEmpty() && !text.startsWith("#")) {
                    all.rows.addAll(Row.of(line, text.trim()));
                }
            }
        } catch (IOException error) {
            throw new AssertionError(file + " cannot be read", error);
        }
        return all;
    }

    List<Row> of(Result result, int jdk) {
        List<Row> matching = new ArrayList<>(rows);
        matching.removeIf(row -> !row.concerns(result, jdk));
        return matching;
    }

    /** Rejects a row about an unknown case, because no run could ever show it as gone. */
    void checkNames(String scenario, List<String> cases) {
        for (Row row : rows) {
            boolean known = !row.scenario.equals(scenario) || cases.stream().anyMatch(row::names);
            Check.that(known, FILE + ":" + row.line + ": " + scenario + " has no case " + row.name);
        }
    }
}
