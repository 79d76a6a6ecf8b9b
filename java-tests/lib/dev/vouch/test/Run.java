package dev.vouch.test;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

/** A child JVM that has ended, with its files. */
public final class Run {
    public final int exit;
    public final List<String> out;
    public final List<String> err;
    /**
     * The child's working folder, with profile.json and report.json unless the test wanted none.
     */
    public final Path dir;
    /** True if the child had to be killed. */
    public final boolean timedOut;

    private Report report;
    private Profile profile;

    Run(int exit, List<String> out, List<String> err, Path dir, boolean timedOut) {
        this.exit = exit;
        this.out = out;
        this.err = err;
        this.dir = dir;
        this.timedOut = timedOut;
    }

    /**
     * Checks what must hold for every run: the JVM did not crash, and the sums of its report are
     * right.
     */
    void check() {
        System.out.println("exit code " + exit);
        out.stream().limit(50).forEach(line -> System.out.println("stdout: " + line));
        err.forEach(line -> System.out.println("stderr: " + line));
        try (DirectoryStream<Path> crashes = Files.newDirectoryStream(dir, "hs_err*.log")) {
            for (Path crash : crashes) {
                List<String> lines = Files.readAllLines(crash, StandardCharsets.ISO_8859_1);
                Check.fail("the JVM crashed:\n" + String.join("\n", lines.subList(0, Math.min(80, lines.size()))));
            }
        } catch (IOException error) {
            throw new AssertionError("the run's folder cannot be read", error);
        }
        Check.that(exit != 134 && exit != 139, "the JVM crashed with exit code " + exit + ": " + err);
        if (Files.exists(dir.resolve("report.json"))) {
            report();
        }
    }

    /** Fails unless the child ended well; returns this run. */
    public Run ok() {
        Check.that(exit == 0, "exit code: expected 0, came " + exit + "\nstdout: " + out + "\nstderr: " + err);
        return this;
    }

    /** The trust report; its sums have been checked. */
    public Report report() {
        if (report == null) {
            report = Report.read(dir.resolve("report.json"));
        }
        return report;
    }

    public Profile profile() {
        if (profile == null) {
            profile = Profile.read(dir.resolve("profile.json"));
        }
        return profile;
    }

    /** The lines of stderr that begin with "[vouch]". */
    public List<String> vouchLines() {
        List<String> lines = new ArrayList<>(err);
        lines.removeIf(line -> !line.startsWith("[vouch]"));
        return lines;
    }

    /** All other lines of stderr: the program's own, and the JVM's. */
    public List<String> otherErr() {
        List<String> lines = new ArrayList<>(err);
        lines.removeIf(line -> line.startsWith("[vouch]"));
        return lines;
    }

    /** The names of the files in the run's folder. */
    public TreeSet<String> files() {
        return files(dir);
    }

    /** The names of the files in a folder. */
    public static TreeSet<String> files(Path dir) {
        TreeSet<String> names = new TreeSet<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(dir)) {
            files.forEach(file -> names.add(file.getFileName().toString()));
        } catch (IOException error) {
            throw new AssertionError(dir + " cannot be read", error);
        }
        return names;
    }

    /** The value that a program printed as `KEY=VALUE`. There must be exactly one such line. */
    public String value(String key) {
        String found = null;
        for (String line : out) {
            if (line.startsWith(key + "=")) {
                Check.that(found == null, "the program printed " + key + "= twice: " + out);
                found = line.substring(key.length() + 1);
            }
        }
        Check.that(found != null, "the program printed no " + key + "=: " + out + err);
        return found;
    }

    public long number(String key) {
        return Long.parseLong(value(key));
    }
}
