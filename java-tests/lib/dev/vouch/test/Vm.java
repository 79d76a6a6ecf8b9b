package dev.vouch.test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A JVM of the JDK under test that is started as a child process, with Vouch or without.
 *
 * With Vouch it writes DIR/profile.json and DIR/report.json, where DIR is a fresh folder and the
 * child's working folder. The child also gets the options that jtreg has for the JVM under test
 * (-vmoption, -javaoption). Settings of the environment that would change a JVM are removed.
 */
public final class Vm {
    private static final String[] UNWANTED =
        {"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "LD_LIBRARY_PATH", "LD_PRELOAD"};

    private final String options;
    private final List<String> flags = new ArrayList<>();
    private final Map<String, String> env = new LinkedHashMap<>();
    private boolean files = true;
    private boolean ownCollector;
    private final List<String> launcher = new ArrayList<>();
    private Path home = jdk();
    private Path agent;
    private Duration timeout = Duration.ofSeconds(100);

    private Vm(String options) {
        this.options = options;
    }

    /** A JVM with the agent; `options` may be empty. */
    public static Vm with(String options) {
        return new Vm(options);
    }

    /**
     * A JVM with the agent that also has what only tests need: the natives of dev.vouch.Oracle, and
     * the options `lab`, `break` and `engine=hammer`.
     */
    public static Vm lab(String options) {
        return new Vm(options).agentPath(labAgent());
    }

    public static Vm without() {
        return new Vm(null);
    }

    /** Passes the options alone, without out= and report=. */
    public Vm noFiles() {
        files = false;
        return this;
    }

    public Vm flags(String... vmOptions) {
        flags.addAll(Arrays.asList(vmOptions));
        return this;
    }

    /** Selects a collector, such as -XX:+UseSerialGC, instead of the one that jtreg has. */
    public Vm collector(String flag) {
        ownCollector = true;
        return flags(flag);
    }

    public Vm env(String name, String value) {
        env.put(name, value);
        return this;
    }

    /** Uses another library than the one in jtreg's -nativepath. */
    public Vm agentPath(Path library) {
        agent = library;
        return this;
    }

    /** Uses another JVM than the one under test. */
    public Vm home(Path jdk) {
        home = jdk;
        return this;
    }

    /** Uses a command that starts the JVM. The JVM's command line is appended to it. */
    public Vm launcher(String... command) {
        launcher.addAll(Arrays.asList(command));
        return this;
    }

    /** Sets the time after which the child is killed and the test fails. */
    public Vm timeout(Duration most) {
        timeout = most;
        return this;
    }

    /** The released library of the agent, in jtreg's -nativepath. */
    public static Path agent() {
        return built("libvouch.so");
    }

    /** The agent's library with what only tests need, in the same folder. */
    public static Path labAgent() {
        return built("libvouch_lab.so");
    }

    private static Path built(String name) {
        String folder = System.getProperty("test.nativepath");
        Check.that(folder != null && !folder.isEmpty(), "jtreg was not given -nativepath:FOLDER-OF-libvouch.so");
        Path library = Paths.get(folder, name).toAbsolutePath();
        Check.that(Files.isRegularFile(library), library + " is not there: cargo build --release --workspace");
        return library;
    }

    /** The home of the JDK under test. */
    public static Path jdk() {
        return Paths.get(System.getProperty("test.jdk", System.getProperty("java.home")));
    }

    /** The major version of the JDK under test: 8, 11… */
    public static int major() {
        String version = System.getProperty("java.specification.version");
        return Integer.parseInt(version.startsWith("1.") ? version.substring(2) : version);
    }

    /** The class path of the test itself, with the library's classes and Gson. */
    public static String classPath() {
        return System.getProperty("test.class.path", System.getProperty("java.class.path"));
    }

    /** Runs the class to its end. */
    public Run run(Class<?> main, String... args) {
        return start(main, args).waitFor();
    }

    /** Starts the class, for a test that attaches to it, talks to it or kills it. */
    public Running start(Class<?> main, String... args) {
        List<String> command = new ArrayList<>(Arrays.asList("-cp", classPath(), main.getName()));
        command.addAll(Arrays.asList(args));
        return start(command);
    }

    /** Runs a command line after the flags: "-jar", "-version", "-m"… */
    public Run runCommand(String... command) {
        return start(Arrays.asList(command)).waitFor();
    }

    private Running start(List<String> tail) {
        try {
            Path dir = Files.createTempDirectory(Paths.get("").toAbsolutePath(), "run-");
            List<String> command = new ArrayList<>(launcher);
            command.add(home.resolve("bin/java").toString());
            // The default heap; a test that needs more sets it. The machine has other work, too.
            command.add("-Xmx512m");
            command.addAll(jtregOptions());
            command.addAll(flags);
            if (options != null) {
                command.add("-agentpath:" + (agent == null ? agent() : agent) + agentOptions(dir));
            }
            command.addAll(tail);
            System.out.println("+ " + String.join(" ", command));
            ProcessBuilder builder = plain(new ProcessBuilder(command).directory(dir.toFile()));
            builder.environment().putAll(env);
            Running running = new Running(builder.start(), dir, timeout);
            running.agent = agent;
            return running;
        } catch (IOException error) {
            throw new AssertionError("the child JVM could not be started", error);
        }
    }

    /** Removes settings of the environment that would change a JVM. */
    static ProcessBuilder plain(ProcessBuilder builder) {
        builder.environment().keySet().removeAll(Arrays.asList(UNWANTED));
        return builder;
    }

    private String agentOptions(Path dir) {
        String all = options;
        if (files) {
            String own = "out=" + dir.resolve("profile.json") + ",report=" + dir.resolve("report.json");
            all = all.isEmpty() ? own : all + "," + own;
        }
        return all.isEmpty() ? "" : "=" + all;
    }

    private List<String> jtregOptions() {
        List<String> given = new ArrayList<>();
        for (String key : new String[] {"test.vm.opts", "test.java.opts"}) {
            for (String option : System.getProperty(key, "").trim().split("\\s+")) {
                boolean replaced = ownCollector && option.matches("-XX:\\+Use\\w+GC");
                if (!option.isEmpty() && !replaced) {
                    given.add(option);
                }
            }
        }
        return given;
    }
}
