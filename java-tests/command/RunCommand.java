/*
 * `vouch run` before a command changes nothing else. The program has its own arguments, streams,
 * signals and exit code. Each JVM that it starts gets a profile, even one that is killed.
 *
 * @test
 * @summary vouch run: a program, a script with several JVMs, one that is killed
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=300 RunCommand
 */

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Profile;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Tool;
import dev.vouch.test.Vm;

public class RunCommand {
    private static final String JAVA = Vm.jdk().resolve("bin/java").toString();

    public static void main(String[] args) throws Exception {
        oneProgram();
        aScript();
        aSignal();
        ignored();
        killed();
        notStarted();
        Check.empty(Tool.folders(), "folders in /tmp of commands that have ended");
    }

    private static void oneProgram() throws Exception {
        Path dir = dir();
        Run run = run(dir, program("exit", "--out", "a b"), "--out", "one.json", "--report", "one-report.json");
        Check.equal(7, run.exit, "exit code");
        Check.equal("[arguments=[--out, a b], input=asked]", run.out.toString(), "what the program printed");
        Check.empty(run.otherErr(), "lines on stderr that are not Vouch's");
        Check.contains(run.vouchLines().toString(), "wrote one.json, one-report.json", "summary");
        Check.equal(new TreeSet<>(Arrays.asList("one.json", "one-report.json")), run.files(), "files");
        holds(dir.resolve("one.json"));
    }

    /**
     * A script starts two JVMs, one of them in another folder. Both write to the requested folder,
     * although its name has a quote and a space.
     */
    private static void aScript() throws Exception {
        Path dir = Files.createDirectory(dir().resolve("o'b c"));
        String java = String.join("' '", program("exit"));
        Path script = Files.write(dir.resolve("script"), Arrays.asList("'" + java + "' </dev/null & cd /", "'" + java + "' </dev/null", "wait", "exit 3"));
        Run run = run(dir, Arrays.asList("sh", script.toString()), "--out", "each.json");
        Check.equal(3, run.exit, "exit code");
        TreeSet<String> files = run.files();
        files.remove("script");
        Check.equal(2, files.size(), "profiles of two JVMs: " + files + run.err);
        for (String file : files) {
            Check.that(file.matches("each-\\d+\\.json"), "a profile's name: " + file);
            holds(dir.resolve(file));
        }
        List<String> merge = new ArrayList<>(Arrays.asList("merge", "--out", "all.json"));
        merge.addAll(files);
        Check.contains(Tool.vouch(dir, merge).ok(), "2 files, 2 processes", "what merge says");
        Profile all = Profile.read(dir.resolve("all.json"));
        Check.equal(files.stream().mapToLong(file -> Profile.read(dir.resolve(file)).weight()).sum(), all.weight(), "what all samples weigh together");
        Check.equal(2, all.tracks("main").size(), "tracks called main");
    }

    /** SIGTERM ends the program, but its profile is written. */
    private static void aSignal() throws Exception {
        Path dir = dir();
        try (Running vouch = start(dir, program("wait"), "--out", "signal.json")) {
            vouch.awaitOut("waiting");
            vouch.signal("TERM");
            Run run = vouch.waitForAnyEnd();
            Check.equal(143, run.exit, "exit code of a program that was asked to end");
            Check.that(run.out.contains("hook"), "its shutdown hook has run: " + run.out);
        }
        holds(dir.resolve("signal.json"));
    }

    /** A signal that is ignored stays ignored in the program. */
    private static void ignored() throws Exception {
        Path dir = dir();
        List<String> program = Arrays.asList("sh", "-c", "grep SigIgn /proc/self/status");
        try (Running vouch = Tool.start(dir, Arrays.asList("nohup"), "run", "--quiet", program.get(0), program.get(1), program.get(2))) {
            String mask = vouch.waitForAnyEnd().out.toString().replaceAll("[^0-9a-f]*SigIgn:\\s*([0-9a-f]+).*", "$1");
            Check.that((Long.parseUnsignedLong(mask, 16) & 1) == 1, "SIGHUP is ignored under nohup: " + mask);
        }
    }

    /**
     * After SIGKILL, all requested files are made from the recording on disk. They never replace
     * another run's files.
     */
    private static void killed() throws Exception {
        Path dir = dir();
        Path report = dir.resolve("killed-report.json");
        kill(dir, "--out", "killed.json", "--out", "killed.folded", "--report", report.getFileName().toString());
        Check.equal(new TreeSet<>(Arrays.asList("killed.json", "killed.folded", "killed-report.json")), Run.files(dir), "files");
        holds(dir.resolve("killed.json"));
        Check.atLeast(1, Report.read(report).signals(), "signals in the report");
        Object before = Files.getLastModifiedTime(report);

        // Only the JVM knew its start time, so `%t` in a file name cannot be expanded.
        Check.contains(kill(dir, "--out", "killed.json", "--out", "killed-%t.html"), "writes the missing files", "what is said of a file without a name");
        Check.that(Run.files(dir).contains("killed.vouch"), "the recording is gone though not all is made of it: " + Run.files(dir));

        // This report name belongs to the earlier run, so the new run gets a numbered name.
        Check.contains(kill(dir, "--out", "killed.json", "--report", "killed-report.json"), "has its profile in killed.2.json", "what is said of another name");
        holds(dir.resolve("killed.2.json"));
        Check.equal(before, Files.getLastModifiedTime(report), "when the first run's report was written");
        Check.equal(new TreeSet<>(Arrays.asList("killed.json", "killed.folded", "killed-report.json", "killed.vouch", "killed.2.json", "killed.2.vouch")),
            Run.files(dir), "files");

        // With --recording off there is no file to recover, and the message says so.
        Check.contains(kill(dir, "[vouch] the JVM was killed", new String[] {"--out", "none.json", "--recording", "off"}), "its recording is lost",
            "what is said without a recording");

        String said = kill(dir, "--out", "quiet.json", "--quiet");
        Check.that(!said.contains("signals in"), "the summary of a killed run that was not to have one: " + said);
        holds(dir.resolve("quiet.json"));

        // Default names never overwrite another run's files.
        for (String profile : new String[] {"killed.3.json", "killed.3-2.json"}) {
            kill(dir, "--out", "killed.json");
            holds(dir.resolve(profile));
            Check.that(!Files.exists(dir.resolve("killed.3.vouch")), "a recording stays of which all is made");
        }
    }

    /** Runs a program, kills it, and returns the output of `vouch`. */
    private static String kill(Path dir, String... options) throws Exception {
        return kill(dir, "[vouch] a JVM was killed or crashed", options);
    }

    private static String kill(Path dir, String sentence, String[] options) throws Exception {
        try (Running vouch = start(dir, program("wait"), options)) {
            String pid = vouch.awaitOut("waiting").split("=")[1];
            Tool.awaitSamples(dir, pid);
            vouch.tool("kill", "-KILL", pid);
            vouch.awaitErr(sentence);
            Run run = vouch.waitForAnyEnd();
            Check.equal(137, run.exit, "exit code of a program that was killed");
            return String.join("\n", run.vouchLines());
        }
    }

    private static void notStarted() throws Exception {
        Path dir = dir();
        Run missing = run(dir, Arrays.asList("./no-such-program"));
        Check.equal("[vouch: ./no-such-program cannot be run: No such file or directory (os error 2)]", missing.err.toString(), "a program that is not there");
        Check.equal(127, missing.exit, "exit code, which is a shell's");
        Run misspelt = run(dir, program("exit"), "--intervall", "1ms");
        Check.equal("[vouch: unknown option --intervall: `vouch run --help` lists them]", misspelt.err.toString(), "an option that there is not");
        Run ending = run(dir, program("exit"), "--out", "profile.txt");
        Check.equal("[vouch: out=profile.txt: must end in .json, .json.gz, .folded, .html, .svg, .pb.gz or .otlp.gz; `vouch run --help` lists the options]",
            ending.err.toString(), "an ending that there is not");
        Check.equal(1, ending.exit, "exit code of it");
        Check.empty(ending.out, "what a JVM says that is not to be started");
        Run none = run(dir, Arrays.asList("true"));
        Check.equal(0, none.exit, "exit code of a program that is no JVM");
        Check.equal("[[vouch] the agent was not loaded: the command started no JVM, or a JVM that vouch does not see]", none.err.toString(), "a program that is no JVM");
        Run mistake = run(dir, program("exit", "one"), "--interval", "3");
        Check.equal(1, mistake.exit, "exit code of a mistake");
        Check.equal("[vouch: interval=3: the unit is missing: write 3ms or 3s; `vouch run --help` lists the options]", mistake.err.toString(), "a mistake");
        Check.empty(mistake.out, "what a JVM says that is not to be started");
        Check.empty(mistake.files(), "files");
    }

    private static List<String> program(String... arguments) {
        List<String> command = new ArrayList<>(Arrays.asList(JAVA, "-Xmx128m", "-cp", Vm.classPath(), Program.class.getName()));
        command.addAll(Arrays.asList(arguments));
        return command;
    }

    private static Running start(Path dir, List<String> program, String... options) throws IOException {
        List<String> arguments = new ArrayList<>(Arrays.asList("run"));
        arguments.addAll(Arrays.asList(options));
        arguments.addAll(program);
        return Tool.start(dir, arguments.toArray(new String[0]));
    }

    private static Run run(Path dir, List<String> program, String... options) throws IOException {
        try (Running vouch = start(dir, program, options)) {
            vouch.stdin().println("asked");
            return vouch.waitForAnyEnd();
        }
    }

    private static void holds(Path profile) {
        Check.atLeast(1, Profile.read(profile).track("main").weightOf("RunCommand$Program.main"), "weight of main in " + profile);
    }

    private static Path dir() throws IOException {
        return Files.createTempDirectory(Paths.get("").toAbsolutePath(), "run-");
    }

    static class Program {
        public static void main(String[] args) throws Exception {
            Burn.millis(50);
            if (args[0].equals("wait")) {
                Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
                System.out.println("waiting=" + Running.ownPid());
                Thread.sleep(60_000);
            }
            int first = System.in.read();
            String rest = first < 0 ? "" : (char) first + new java.util.Scanner(System.in).nextLine();
            if (args.length > 1) {
                System.out.println("arguments=" + Arrays.asList(args).subList(1, args.length) + ", input=" + rest);
            }
            System.exit(7);
        }
    }
}
