package dev.vouch.lab;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;

import dev.vouch.test.Vm;

/** The result of one case in one mode on this JDK. */
final class Result {
    /** How many rows a difference keeps. EXAMPLE limits each example of many answers. */
    private static final int MOST_ROWS = 60;
    private static final int EXAMPLE = 25;

    /** The answers of one way to walk, over all questions of the case. */
    static final class Way {
        final TreeSet<String> kinds = new TreeSet<>();
        long asked;
        /** How often each combination of kinds occurred, or null if answers were not tallied. */
        Map<String, Long> counts;
        /** Frame counts of the first answer that differed, else of the first answer. */
        int walk;
        int witness;
        List<String> rows = new ArrayList<>();
        /** The combinations of kinds that have an example. */
        private final transient Set<Set<String>> exemplified = new HashSet<>();

        private void add(Answer.Part part) {
            boolean firstDifference = kinds.isEmpty() && !part.kinds.isEmpty();
            kinds.addAll(part.kinds);
            if (counts != null) {
                examples(part);
            } else if (asked++ == 0 || firstDifference) {
                walk = part.walk;
                witness = part.witness;
                rows = part.kinds.isEmpty() ? new ArrayList<>() : part.rows.subList(0, Math.min(part.rows.size(), MOST_ROWS));
            }
        }

        /** Keeps one example for each combination of kinds, because tallied answers are many. */
        private void examples(Answer.Part part) {
            if (part.kinds.isEmpty() || !exemplified.add(part.kinds)) {
                return;
            }
            rows.add(part.kinds + ", walk " + part.walk + ", witness " + part.witness + ":");
            rows.addAll(part.rows.subList(0, Math.min(part.rows.size(), EXAMPLE)));
        }
    }

    final String scenario;
    final String name;
    final Mode mode;
    final Map<String, Way> ways = new LinkedHashMap<>();
    /** One of: same, differs, unfit, untriggered, crashed, hung, died, refused. */
    String outcome = "same";
    String reason;
    final List<String> news = new ArrayList<>();
    List<Expectations.Row> expected = new ArrayList<>();
    private final List<String> needs = new ArrayList<>();
    private List<String> truth = new ArrayList<>();

    Result(Scenario scenario, String name, Mode mode) {
        this.scenario = scenario.getClass().getSimpleName();
        this.name = name;
        this.mode = mode;
    }

    Result unfit(String why) {
        outcome = "unfit";
        reason = why;
        return this;
    }

    Result broken(String how, String why) {
        outcome = how;
        reason = why;
        return this;
    }

    private void untriggered(String why) {
        if (!outcome.equals("untriggered")) {
            broken("untriggered", why);
        }
    }

    /** Parses a line that the child wrote about this case. */
    void take(String what, String text) {
        switch (what) {
            case "answer": answer(Answer.read(text)); break;
            case "tally": tally(text.split("\t")); break;
            case "truth": truth = Arrays.asList(text.split(" ")); break;
            case "needs": needs.add(text); break;
            case "untriggered": untriggered(text); break;
            case "unfit": unfit(text); break;
            case "attach": break;
            default: throw new AssertionError("the child wrote an unknown word: " + what);
        }
    }

    private void tally(String[] words) {
        Way way = ways.computeIfAbsent(words[0], key -> new Way());
        long count = Long.parseLong(words[2]);
        if (way.counts == null) {
            way.counts = new LinkedHashMap<>();
        }
        way.counts.put(words[1], count);
        way.asked += count;
        way.kinds.addAll(Arrays.asList(words[1].split(",")));
        way.kinds.remove("same");
    }

    private void answer(Answer answer) {
        if (answer.error != null) {
            untriggered("no answer: " + answer.error);
        }
        answer.ways.forEach((way, part) -> {
            ways.computeIfAbsent(way, key -> new Way()).add(part);
            String lacking = part.lacking(truth);
            if (lacking != null) {
                untriggered("the witness has no " + lacking + " in its place: the stack is not what was meant");
            }
        });
    }

    /** Voids the case unless it asked something and the JVM's output matches each required line. */
    void checkNeeds(List<String> output) {
        if (outcome.equals("unfit")) {
            return;
        }
        for (String regex : needs) {
            Pattern pattern = Pattern.compile(regex);
            if (output.stream().noneMatch(line -> pattern.matcher(line).find())) {
                untriggered("the JVM's output has no line like " + regex);
            }
        }
        if (ways.isEmpty()) {
            untriggered("nothing was asked");
        }
        if (outcome.equals("same") && ways.values().stream().anyMatch(way -> !way.kinds.isEmpty())) {
            outcome = "differs";
        }
    }

    /** Returns all findings as `WAY:KIND`, plus an outcome that has no comparison. */
    TreeSet<String> found() {
        TreeSet<String> found = new TreeSet<>();
        ways.forEach((way, data) -> data.kinds.forEach(kind -> found.add(way + ":" + kind)));
        if (!outcome.equals("same") && !outcome.equals("differs")) {
            found.add(outcome);
        }
        return found;
    }

    /** True if the way or the finding belongs to our own walker. */
    static boolean isOwn(String way) {
        return way.startsWith("own-");
    }

    /** Compares the findings with the expectations. Both new and missing differences are news. */
    void judge(Expectations expectations) {
        expected = expectations.of(this, Vm.major());
        if (outcome.equals("unfit")) {
            expected.clear();
            return;
        }
        TreeSet<String> unexpected = found();
        String place = scenario + "." + name + " (" + mode.word() + "): ";
        for (Expectations.Row row : expected) {
            boolean seen = unexpected.removeIf(row::covers) | found().stream().anyMatch(row::covers);
            // An incomplete case cannot show that a difference is gone. Nor can our own walker
            // where it cannot walk.
            boolean asked = !row.kind.startsWith("own") || ways.keySet().stream().anyMatch(Result::isOwn);
            if (!seen && asked && !row.mayBe && (outcome.equals("same") || outcome.equals("differs"))) {
                news.add(place + "gone: " + row.kind + ", which " + Expectations.FILE + " expects (line " + row.line + ")");
            }
        }
        for (String kind : unexpected) {
            news.add(place + "new: " + kind + counts(kind) + (reason == null ? "" : ", " + reason));
        }
    }

    private String counts(String kind) {
        Way way = ways.get(kind.split(":")[0]);
        return way == null || way.counts != null ? "" : " (walk " + way.walk + ", witness " + way.witness + " frames)";
    }
}
