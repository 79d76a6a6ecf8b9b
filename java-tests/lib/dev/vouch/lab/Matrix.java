package dev.vouch.lab;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;

import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonObject;

/**
 * Writes the report of a matrix run: `Matrix OUT FAILURES BUILD…` reads each build's folder.
 *
 * OUT gets matrix.md, asyncgetcalltrace-programs.md, matrix.json and matrix.xml (JUnit). New
 * differences go to stdout. FAILURES is the folder of the minimal programs.
 *
 * The exit code is 1 if there are news, or if a build or a scenario has no results.
 */
public final class Matrix {
    private static final int MOST_NEWS = 40;

    private Matrix() {}

    public static void main(String[] args) throws IOException {
        Path out = Paths.get(args[0]);
        List<Build> builds = new ArrayList<>();
        for (int at = 2; at < args.length; at++) {
            builds.add(Build.read(Paths.get(args[at])));
        }
        List<Failure> failures = Failure.all(Paths.get(args[1]));
        write(out.resolve("matrix.md"), new Page(builds, failures).text());
        write(out.resolve(Programs.NAME), new Programs(builds, failures).text());
        write(out.resolve("matrix.json"), new GsonBuilder().setPrettyPrinting().disableHtmlEscaping().create().toJson(json(builds)));
        write(out.resolve("matrix.xml"), JUnit.text(builds));
        System.exit(tell(builds) ? 1 : 0);
    }

    /** Prints the news of all builds, and returns true if there are any. */
    private static boolean tell(List<Build> builds) {
        List<String> news = new ArrayList<>();
        builds.forEach(build -> build.news().forEach(one -> news.add(build.label + ": " + one)));
        news.stream().limit(MOST_NEWS).forEach(System.out::println);
        if (news.size() > MOST_NEWS) {
            System.out.println("… and " + (news.size() - MOST_NEWS) + " more: they are all in matrix.json");
        }
        System.out.println(news.isEmpty() ? "no news: every difference is a known one" : news.size() + " news");
        return !news.isEmpty();
    }

    private static JsonArray json(List<Build> builds) {
        JsonArray all = new JsonArray();
        for (Build build : builds) {
            JsonObject one = new JsonObject();
            one.addProperty("jdk", build.label);
            one.addProperty("missing", build.missing);
            JsonArray rows = new JsonArray();
            build.rows.forEach(row -> rows.add(row.json));
            one.add("results", rows);
            JsonArray silent = new JsonArray();
            build.silent.forEach(silent::add);
            one.add("without_results", silent);
            all.add(one);
        }
        return all;
    }

    private static void write(Path file, String text) throws IOException {
        Files.write(file, text.getBytes(StandardCharsets.UTF_8));
    }
}
