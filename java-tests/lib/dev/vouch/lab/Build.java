package dev.vouch.lab;

import java.io.IOException;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

/**
 * One JDK build of a matrix run, as scripts/jdk-matrix stores it in a folder.
 *
 * The folder contains `label` (its version, one line), `results/*.json` (see {@link Results}) and
 * jtreg's `summary.txt`. A build that was not run has `missing`, with the reason.
 */
final class Build {
    /** A case in a mode, as the JSON of a {@link Result}. */
    static final class Row {
        final JsonObject json;

        private Row(JsonObject json) {
            this.json = json;
        }

        String name() {
            return json.get("scenario").getAsString() + "." + json.get("name").getAsString();
        }

        String mode() {
            return json.get("mode").getAsString().toLowerCase(java.util.Locale.ROOT);
        }

        String outcome() {
            return json.get("outcome").getAsString();
        }

        String reason() {
            return json.has("reason") ? json.get("reason").getAsString() : "";
        }

        List<String> news() {
            List<String> news = new ArrayList<>();
            json.getAsJsonArray("news").forEach(one -> news.add(one.getAsString()));
            return news;
        }

        /**
         * Returns AsyncGetCallTrace's kinds of all ways, plus an outcome that has no comparison.
         */
        TreeSet<String> kinds() {
            TreeSet<String> kinds = kinds(false);
            if (!outcome().equals("same") && !outcome().equals("differs")) {
                kinds.add(outcome());
            }
            return kinds;
        }

        /** Returns our own walker's kinds of all ways, without outcomes. */
        TreeSet<String> ownKinds() {
            return kinds(true);
        }

        /** True if our own walker was asked and had no difference. */
        boolean ownAgrees() {
            return ways().keySet().stream().anyMatch(Result::isOwn) && ownKinds().isEmpty();
        }

        private TreeSet<String> kinds(boolean own) {
            TreeSet<String> kinds = new TreeSet<>();
            ways().entrySet().stream().filter(way -> Result.isOwn(way.getKey()) == own)
                .forEach(way -> way.getValue().getAsJsonObject().getAsJsonArray("kinds").forEach(kind -> kinds.add(kind.getAsString())));
            return kinds;
        }

        /**
         * Returns `walk/witness` of the first AsyncGetCallTrace way that differs, or an empty
         * string.
         */
        String counts() {
            for (String way : ways().keySet()) {
                JsonObject data = ways().getAsJsonObject(way);
                if (!Result.isOwn(way) && data.getAsJsonArray("kinds").size() > 0 && !data.has("counts")) {
                    return data.get("walk").getAsInt() + "/" + data.get("witness").getAsInt();
                }
            }
            return "";
        }

        JsonObject ways() {
            return json.getAsJsonObject("ways");
        }
    }

    final String label;
    /** Why the build has no results, or null. */
    final String missing;
    final List<Row> rows = new ArrayList<>();
    /** Tests that failed without news in their results or without results, with jtreg's message. */
    final List<String> silent = new ArrayList<>();

    private Build(String label, String missing) {
        this.label = label;
        this.missing = missing;
    }

    /** Returns the version without the packager's suffix, for a column head. */
    String column() {
        return label.replaceAll("-\\S*", "");
    }

    /** Returns everything unexpected: a missing run, failed tests, and news of the results. */
    List<String> news() {
        List<String> news = new ArrayList<>();
        if (missing != null) {
            news.add("not run: " + missing);
        }
        silent.forEach(test -> news.add("failed: " + test));
        rows.forEach(row -> news.addAll(row.news()));
        return news;
    }

    static Build read(Path folder) throws IOException {
        Path missing = folder.resolve("missing");
        Build build = new Build(text(folder.resolve("label")), Files.exists(missing) ? text(missing) : null);
        TreeSet<String> told = new TreeSet<>();
        Path results = folder.resolve("results");
        if (Files.isDirectory(results)) {
            TreeSet<Path> files = new TreeSet<>();
            try (DirectoryStream<Path> all = Files.newDirectoryStream(results, "*.json")) {
                all.forEach(files::add);
            }
            for (Path file : files) {
                build.add(file, told);
            }
        }
        Path summary = folder.resolve("summary.txt");
        if (Files.exists(summary)) {
            for (String line : Files.readAllLines(summary, StandardCharsets.UTF_8)) {
                String test = line.replaceAll("^lab/(\\w+)\\.java.*", "$1");
                if (!told.contains(test) && !line.contains("Passed.")) {
                    build.silent.add(line.replaceAll("\\s+", " "));
                }
            }
        }
        return build;
    }

    /** Adds a scenario's results, and adds its name to `told` if they contain news. */
    private void add(Path file, Set<String> told) throws IOException {
        try (Reader reader = Files.newBufferedReader(file, StandardCharsets.UTF_8)) {
            JsonObject all = JsonParser.parseReader(reader).getAsJsonObject();
            for (JsonElement result : all.getAsJsonArray("results")) {
                Row row = new Row(result.getAsJsonObject());
                rows.add(row);
                if (!row.news().isEmpty()) {
                    told.add(all.get("scenario").getAsString());
                }
            }
        }
    }

    private static String text(Path file) throws IOException {
        return new String(Files.readAllBytes(file), StandardCharsets.UTF_8).trim();
    }
}
