package dev.vouch.lab;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.List;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonObject;

import dev.vouch.test.Vm;

/**
 * Reports a scenario's results: as text on stdout, and as JSON for {@link Matrix} in the folder
 * that VOUCH_LAB_RESULTS names.
 */
final class Results {
    private Results() {}

    static void write(Scenario scenario, List<Result> results) {
        String folder = System.getenv("VOUCH_LAB_RESULTS");
        if (folder == null || folder.isEmpty()) {
            return;
        }
        Gson gson = new GsonBuilder().setPrettyPrinting().disableHtmlEscaping().create();
        JsonObject all = new JsonObject();
        all.addProperty("jdk", Vm.major());
        all.addProperty("version", System.getProperty("java.runtime.version"));
        all.addProperty("scenario", scenario.getClass().getSimpleName());
        all.add("results", gson.toJsonTree(results));
        try {
            Path file = Paths.get(folder, scenario.getClass().getSimpleName() + ".json");
            Files.write(file, gson.toJson(all).getBytes(StandardCharsets.UTF_8));
        } catch (IOException error) {
            throw new AssertionError("the results cannot be written to " + folder, error);
        }
    }

    static void show(List<Result> results) {
        for (Result result : results) {
            String reason = result.reason == null ? "" : ": " + result.reason;
            System.out.println(result.scenario + "." + result.name + " (" + result.mode.word() + ") " + result.outcome + reason);
            result.ways.forEach((way, data) -> show(way, data));
        }
    }

    private static void show(String way, Result.Way data) {
        String kinds = data.kinds.isEmpty() ? "same" : String.join(", ", data.kinds);
        String frames = data.counts == null ? ", walk " + data.walk + ", witness " + data.witness : "";
        System.out.println("    " + way + ": " + kinds + frames + ", asked " + data.asked);
        if (data.counts != null) {
            data.counts.forEach((combination, count) -> System.out.println("        " + combination + " " + count));
        }
        data.rows.forEach(row -> System.out.println("        " + row));
    }
}
