package dev.vouch.lab;

import java.util.List;
import java.util.Locale;

/** Builds Markdown text, wrapped at 100 columns except for tables and code. */
final class Markdown {
    private static final int WIDTH = 100;

    private final StringBuilder text = new StringBuilder();

    /** Adds a line unchanged: a table row, a line of code, or an empty line. */
    void line(String line) {
        text.append(line).append('\n');
    }

    void heading(String heading) {
        if (text.length() > 0) {
            line("");
        }
        line(heading);
        line("");
    }

    /** Adds a wrapped paragraph, with an empty line before it if text precedes it. */
    void paragraph(String words) {
        if (text.length() > 0 && !text.toString().endsWith("\n\n")) {
            line("");
        }
        wrap("", words);
    }

    /** Adds a wrapped list item. */
    void item(String words) {
        wrap("- ", words);
    }

    private void wrap(String bullet, String words) {
        StringBuilder row = new StringBuilder(bullet);
        boolean empty = true;
        for (String word : words.trim().split("\\s+")) {
            if (!empty && row.length() + 1 + word.length() > WIDTH) {
                line(row.toString());
                row = new StringBuilder(bullet.isEmpty() ? "" : "  ");
                empty = true;
            }
            row.append(empty ? "" : " ").append(word);
            empty = false;
        }
        line(row.toString());
    }

    void table(List<String> head) {
        row(head);
        StringBuilder rule = new StringBuilder("|");
        head.forEach(cell -> rule.append("---|"));
        line(rule.toString());
    }

    void row(List<String> cells) {
        line("| " + String.join(" | ", cells) + " |");
    }

    /** Returns the anchor that GitHub generates for a heading. */
    static String anchor(String heading) {
        return heading.toLowerCase(Locale.ROOT).replaceAll("[^\\w -]", "").replace(' ', '-');
    }

    @Override
    public String toString() {
        return text.toString();
    }
}
