/*
 * The report shows a minimal program for each failure, fit for a bug report. On the JDKs in its
 * header each program must show its failure by itself. On the JDKs without the failure it must not.
 *
 * @test
 * @summary each minimal program shows its failure where its head says so
 * @library /lib
 * @build dev.vouch.test.* dev.vouch.lab.* dev.vouch.Oracle
 * @run main Minimal
 */

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Skip;
import dev.vouch.test.Vm;

public class Minimal {
    private static final Pattern SHOWS = Pattern.compile("Shows: (.*) on (\\d+)-(\\d*)( of x86-64)?");
    private static final boolean X86 = System.getProperty("os.arch").equals("amd64");

    public static void main(String[] args) throws Exception {
        TreeSet<Path> programs = new TreeSet<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(Paths.get(System.getProperty("test.src"), "minimal"), "*.java")) {
            files.forEach(programs::add);
        }
        Check.atLeast(8, programs.size(), "minimal programs");
        // A later program may use what this JDK lacks.
        programs.removeIf(program -> Vm.major() < Integer.parseInt(shows(program).group(2)));
        Path classes = compile(programs);
        for (Path program : programs) {
            show(program, classes);
        }
    }

    private static List<String> lines(Path program) {
        try {
            return Files.readAllLines(program);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** The failure and the JDKs that the program's header names. */
    private static Matcher shows(Path program) {
        Matcher shows = SHOWS.matcher(String.join("\n", lines(program)));
        Check.that(shows.find(), program + " has no line like \"Shows: truncated on 8-11\"");
        return shows;
    }

    private static void show(Path program, Path classes) throws IOException {
        List<String> lines = lines(program);
        Matcher shows = shows(program);
        int last = shows.group(3).isEmpty() ? Integer.MAX_VALUE : Integer.parseInt(shows.group(3));
        String name = program.getFileName().toString().replace(".java", "");
        String agent = "-agentpath:" + Vm.labAgent() + "=" + head(lines, "Agent: ", "lab");
        List<String> flags = new ArrayList<>(Arrays.asList(agent, "-Djava.library.path=" + Vm.labAgent().getParent()));
        String run = head(lines, "Run: ", "");
        if (!run.isEmpty()) {
            flags.addAll(Arrays.asList(run.split(" ")));
        }
        flags.addAll(Arrays.asList("-cp", alone(name, classes) + File.pathSeparator + classes, name));
        Run shown = Vm.without().runCommand(flags.toArray(new String[0])).ok();
        String all = String.join("\n", shown.out);
        boolean there = Vm.major() <= last && (X86 || shows.group(4) == null);
        for (String kind : shows.group(1).split(" and ")) {
            boolean seen = all.contains(kind);
            Check.equal(there, seen, name + " shows " + kind + ":\n" + all + "\n");
        }
    }

    /** The text after a word in the header. */
    private static String head(List<String> lines, String word, String otherwise) {
        for (String line : lines) {
            if (line.startsWith(" * " + word)) {
                return line.substring(3 + word.length()).trim();
            }
        }
        return otherwise;
    }

    /** Moves a program's classes to a separate folder, since it must not need any others. */
    private static Path alone(String name, Path classes) throws IOException {
        Path own = Files.createDirectories(Paths.get("minimal-" + name).toAbsolutePath());
        try (DirectoryStream<Path> files = Files.newDirectoryStream(classes, name + "{,$*}.class")) {
            for (Path file : files) {
                Files.move(file, own.resolve(file.getFileName()));
            }
        }
        return own;
    }

    /**
     * Compiles all programs at once: starting a compiler takes longer than compiling one of them.
     */
    private static Path compile(Collection<Path> programs) throws IOException, InterruptedException {
        Path javac = Paths.get(System.getProperty("compile.jdk", Vm.jdk().toString()), "bin/javac");
        Skip.unless(Files.isExecutable(javac), "there is no javac: jtreg's -compilejdk names a JDK that has one");
        Path classes = Files.createDirectories(Paths.get("minimal").toAbsolutePath());
        List<String> command = new ArrayList<>(Arrays.asList(javac.toString(), "-J-XX:TieredStopAtLevel=1", "-nowarn", "-d",
            classes.toString(),
            "-sourcepath", Paths.get(System.getProperty("test.root"), "lib").toString()));
        programs.forEach(program -> command.add(program.toString()));
        if (!javac.startsWith(Vm.jdk())) {
            command.addAll(1, Arrays.asList("--release", "" + Vm.major()));
        }
        Process process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(new File("javac.log")).start();
        Check.equal(0, process.waitFor(), "exit code of " + command + ": " + Files.readAllLines(Paths.get("javac.log")));
        return classes;
    }
}
