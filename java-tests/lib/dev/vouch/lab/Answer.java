package dev.vouch.lab;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/**
 * One answer of the agent, as agent/lab/src/answer.rs writes it.
 *
 * Each way to walk has a line `WAY TAB KINDS TAB WALK TAB WITNESS`. KINDS are joined by commas, or
 * "same" without a difference; WALK and WITNESS count frames. A line for each row of the comparison
 * follows, indented by a tab: `MARK TAB frame of the walk TAB frame of the witness`. A failed
 * question has the one line `error TAB what`.
 */
final class Answer {
    /** The part of an answer that one way to walk contributes. */
    static final class Part {
        final TreeSet<String> kinds;
        final int walk;
        final int witness;
        final List<String> rows = new ArrayList<>();
        private final List<String> witnessed = new ArrayList<>();

        private Part(String[] words) {
            kinds = new TreeSet<>(Arrays.asList(words[1].split(",")));
            kinds.remove("same");
            walk = Integer.parseInt(words[2]);
            witness = Integer.parseInt(words[3]);
        }

        private void row(String line) {
            String[] cells = line.split("\t", -1);
            rows.add(String.format("%s %-60s %s", cells[0], cells[1], cells[2]).trim());
            if (!cells[2].isEmpty()) {
                witnessed.add(cells[2]);
            }
        }

        /**
         * Returns the first method that the witness lacks, or null. Leaf first; other frames may
         * come between.
         */
        String lacking(List<String> methods) {
            int at = 0;
            for (String method : methods) {
                while (at < witnessed.size() && !is(witnessed.get(at), method)) {
                    at++;
                }
                if (at++ == witnessed.size()) {
                    return method;
                }
            }
            return null;
        }

        private static boolean is(String frame, String method) {
            String name = frame.substring(0, frame.lastIndexOf('@'));
            return name.matches("(.*[.$])?\\Q" + method.replace("*", "\\E.*\\Q") + "\\E");
        }
    }

    final Map<String, Part> ways = new LinkedHashMap<>();
    String error;

    static Answer read(String text) {
        Answer answer = new Answer();
        Part part = null;
        for (String line : text.split("\u0001")) {
            if (line.startsWith("\t") && part != null) {
                part.row(line.substring(1));
                continue;
            }
            String[] words = line.split("\t");
            if (words[0].equals("error")) {
                answer.error = words[1];
            } else {
                part = new Part(words);
                answer.ways.put(words[0], part);
            }
        }
        return answer;
    }
}
