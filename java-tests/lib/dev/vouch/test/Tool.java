package dev.vouch.test;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * Runs the command `vouch`, which was built beside the agent, to its end. It must answer or fail
 * with one sentence.
 */
public final class Tool {
    /** The pids of all commands that were started, so that their leftovers can be found. */
    private static final Set<Long> PIDS = ConcurrentHashMap.newKeySet();

    public final int exit;
    /** The output of both streams. */
    public final String text;

    private Tool(int exit, String text) {
        this.exit = exit;
        this.text = text;
    }

    /** Runs the command in a folder. */
    public static Tool vouch(Path dir, String... arguments) throws IOException, InterruptedException {
        return vouch(dir, Arrays.asList(arguments));
    }

    public static Tool vouch(Path dir, List<String> arguments) throws IOException, InterruptedException {
        List<String> command = command(arguments);
        File said = dir.resolve("said.txt").toFile();
        Process process = builder(command, dir).redirectErrorStream(true).redirectOutput(said).start();
        PIDS.add(Running.pid(process));
        boolean ended = process.waitFor(60, TimeUnit.SECONDS);
        process.destroyForcibly().waitFor();
        String text = new String(Files.readAllBytes(said.toPath()), StandardCharsets.UTF_8);
        Files.delete(said.toPath());
        Check.that(ended, command + " did not end: " + text);
        Check.that(process.exitValue() == 0 || process.exitValue() == 1 && text.startsWith("vouch: "),
            command + " ended with " + process.exitValue() + ": " + text);
        return new Tool(process.exitValue(), text);
    }

    /**
     * Waits until a JVM's recording has samples of Java code, which are then on disk, too. Returns
     * its state.
     */
    public static String awaitSamples(Path dir, String pid) throws IOException, InterruptedException {
        String status = "";
        for (int times = 0; times < 300 && !status.contains(" % of Java proven"); times++) {
            Thread.sleep(50);
            status = vouch(dir, "status", pid).ok();
        }
        Check.contains(status, " % of Java proven", "the state of a recording with samples of Java code");
        return status;
    }

    /** Starts the command in a folder, for a test that talks to it or kills it. */
    public static Running start(Path dir, String... arguments) throws IOException {
        return start(dir, Collections.emptyList(), arguments);
    }

    /** Starts the command through a launcher. */
    public static Running start(Path dir, List<String> launcher, String... arguments) throws IOException {
        List<String> command = new ArrayList<>(launcher);
        command.addAll(command(Arrays.asList(arguments)));
        System.out.println("+ " + String.join(" ", command));
        Running running = new Running(builder(command, dir).start(), dir, Duration.ofSeconds(100));
        PIDS.add(running.pid());
        return running;
    }

    private static ProcessBuilder builder(List<String> command, Path dir) {
        ProcessBuilder builder = Vm.plain(new ProcessBuilder(command).directory(dir.toFile()));
        builder.environment().put("JAVA_HOME", Vm.jdk().toString());
        return builder;
    }

    private static List<String> command(List<String> arguments) {
        List<String> command = new ArrayList<>();
        command.add(Vm.agent().resolveSibling("vouch").toString());
        command.addAll(arguments);
        return command;
    }

    /** Fails unless the command refused; returns the sentence. */
    public String refused() {
        Check.equal(1, exit, "exit code of vouch, which said: " + text);
        return text;
    }

    /** The reply folders that commands of this test did not delete. */
    public static List<String> folders() throws IOException {
        List<String> left = new ArrayList<>();
        try (DirectoryStream<Path> folders = Files.newDirectoryStream(Paths.get("/tmp"), ".vouch-*")) {
            for (Path folder : folders) {
                String name = folder.getFileName().toString();
                if (PIDS.contains(Long.parseLong(name.split("-")[1])) && Files.exists(folder)) {
                    left.add(name);
                }
            }
        }
        return left;
    }

    /** Fails unless the command answered; returns the answer. */
    public String ok() {
        Check.equal(0, exit, "exit code of vouch, which said: " + text);
        return text;
    }
}
