package dev.vouch.lab;

import java.util.List;

/**
 * Writes the matrix as JUnit XML for tools that show test results. Each build is a suite; each case
 * in a mode is a test.
 */
final class JUnit {
    private JUnit() {}

    static String text(List<Build> builds) {
        StringBuilder xml = new StringBuilder("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
        for (Build build : builds) {
            long failed = build.rows.stream().filter(row -> !row.news().isEmpty()).count() + build.silent.size();
            long skipped = build.rows.stream().filter(row -> row.outcome().equals("unfit")).count();
            int missing = build.missing == null ? 0 : 1;
            xml.append("<testsuite name=\"").append(escape(build.label)).append("\" tests=\"")
                .append(build.rows.size() + build.silent.size() + missing).append("\" failures=\"").append(failed)
                .append("\" errors=\"").append(missing).append("\" skipped=\"").append(skipped).append("\">\n");
            build.rows.forEach(row -> test(xml, row));
            build.silent.forEach(test -> test(xml, test, "failure", "failed: " + test));
            if (missing > 0) {
                test(xml, build.label, "error", "not run: " + build.missing);
            }
            xml.append("</testsuite>\n");
        }
        return xml.append("</testsuites>\n").toString();
    }

    private static void test(StringBuilder xml, Build.Row row) {
        String name = row.name() + " (" + row.mode() + ")";
        if (!row.news().isEmpty()) {
            test(xml, name, "failure", String.join("; ", row.news()));
        } else if (row.outcome().equals("unfit")) {
            test(xml, name, "skipped", row.reason());
        } else {
            xml.append("<testcase name=\"").append(escape(name)).append("\"/>\n");
        }
    }

    private static void test(StringBuilder xml, String name, String outcome, String message) {
        xml.append("<testcase name=\"").append(escape(name)).append("\"><").append(outcome).append(" message=\"")
            .append(escape(message)).append("\"/></testcase>\n");
    }

    /** Escapes text for an attribute, and replaces characters that XML does not allow. */
    private static String escape(String text) {
        return text.replaceAll("[^\\x20-\\x{D7FF}\\x{E000}-\\x{FFFD}]", " ")
            .replace("&", "&amp;").replace("<", "&lt;").replace("\"", "&quot;");
    }
}
