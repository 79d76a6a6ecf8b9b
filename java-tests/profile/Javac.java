/*
 * Profiles a real program: javac compiling the JDK's own java.xml, some 1,500 files, or one library
 * in it. Its exit is the same as without the agent, and the profile shows javac's own methods with
 * files and lines.
 *
 * The measured power of proof is right for these stacks of every kind. With a walker that drops a
 * frame in one walk of five, the share of refuted stacks is the share of spoiled ones times the
 * power.
 *
 * @test
 * @key newest
 * @summary javac on the sources of java.xml, with a true walker and a spoiled one
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=400 Javac
 */

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import com.google.gson.JsonObject;

import dev.vouch.test.Check;
import dev.vouch.test.Frame;
import dev.vouch.test.Profile;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.Scale;
import dev.vouch.test.Skip;
import dev.vouch.test.Sources;
import dev.vouch.test.Track;
import dev.vouch.test.Vm;

public class Javac {
    private static final String JAVAC = "com.sun.tools.javac.";
    private static final int EVERY = 5;
    /** This many stacks are enough to measure the share that is refuted. */
    private static final int ENOUGH = 1_000;
    /** The most runs that a machine needs for it. */
    private static final int MOST = 10;
    /** The run with the spoiled walker compiles only one library. */
    private static final List<String> UNDERSTOOD =
        Arrays.asList("-XDshould-stop.ifNoError=ATTR", "-XDshouldStopPolicyIfNoError=ATTR");

    public static void main(String[] args) throws IOException {
        Path sources = Sources.find();
        Skip.unless(sources != null, "no sources of java.xml for this JDK: scripts/jdks --sources fetches them");
        // One library has stacks of every kind, too, and takes a fifth of the time.
        List<String> files = Sources.files(Scale.isFull() ? sources : sources.resolve("com/sun/org/apache/bcel"));
        // (JDK 8's has 287.)
        Check.atLeast(Scale.pick(250, 1000), files.size(), "source files of java.xml in " + sources);

        Run run = javac(sources, files, Vm.with("interval=1ms"), Collections.emptyList());
        Check.atLeast(files.size(), classes("classes"), "classes that javac made");
        sameExitCode();

        Profile profile = run.profile();
        Track main = profile.track("main");
        Check.that(main.isMain, "main is the main thread");
        checkSums(run.report(), profile, main);
        checkFrames(profile, main);
        Walked whole = new Walked(run.report());
        for (int i = 0; i < MOST && whole.stacks < ENOUGH; i++) {
            whole.add(javac(sources, files, Vm.with("interval=1ms"), UNDERSTOOD).report());
        }
        Walked spoiled = new Walked();
        List<String> some = files.subList(0, files.size() / 8);
        for (int i = 0; i < MOST && spoiled.stacks < ENOUGH; i++) {
            // A recovered stack that is refuted is replaced by the next candidate or by none, and
            // would not be counted. (At this interval one run has enough samples.)
            spoiled.add(javac(sources, some, Vm.lab("interval=500us,recovery=off,break=gap/" + EVERY), UNDERSTOOD).report());
        }
        Skip.unless(Math.min(whole.stacks, spoiled.stacks) >= ENOUGH, "too few stacks in " + MOST + " runs");
        checkPower(whole.refutedShare(), spoiled);
    }

    /** The fates of the stacks of several runs. How many a run has depends on the machine. */
    private static final class Walked {
        long stacks;
        long refuted;
        long tried;
        long noticed;

        Walked(Report... reports) {
            Arrays.asList(reports).forEach(this::add);
        }

        void add(Report report) {
            Check.atLeast(1, report.walked(), "samples of javac with a stack");
            stacks += report.walked();
            refuted += report.samples("refuted");
            JsonObject power = report.json.getAsJsonObject("power").getAsJsonObject("dropped_frames");
            tried += power.get("tried").getAsLong();
            noticed += power.get("noticed").getAsLong();
        }

        double refutedShare() {
            return (double) refuted / stacks;
        }
    }

    private static Run javac(Path sources, List<String> files, Vm vm, List<String> more) throws IOException {
        Path list = Paths.get("files").toAbsolutePath();
        List<String> arguments = Sources.javacArguments(sources, files, list, Paths.get("classes").toAbsolutePath());
        arguments.addAll(more);
        Run run = Sources.compile(vm, arguments);
        Check.equal(0, run.exit, "exit code of javac under the agent: " + run.err);
        return run;
    }

    /** A file that does not compile fails with the same exit code as without the agent. */
    private static void sameExitCode() throws IOException {
        Path broken = Paths.get("Broken.java").toAbsolutePath();
        Files.write(broken, Collections.singletonList("class Broken { does not compile }"), StandardCharsets.UTF_8);
        List<String> arguments = Arrays.asList("-proc:none", broken.toString());
        Run without = Sources.compile(Vm.without(), arguments);
        Run with = Sources.compile(Vm.with("interval=1ms"), arguments);
        Check.that(without.exit != 0, "javac refuses a broken file");
        Check.equal(without.exit, with.exit, "exit code of javac on a broken file under the agent");
        Check.equal(without.out, with.out, "stdout of javac on a broken file under the agent");
    }

    private static void checkSums(Report report, Profile profile, Track main) {
        Check.equal(report.signals() - report.samples("dropped"), profile.samples().size(), "samples in the profile");
        double sampled = report.threads().stream().mapToDouble(row -> row.sampledMs).sum();
        Check.near(report.weightMs("signals") - report.weightMs("dropped"), sampled, 1, "sampled time of all threads, in ms");
        Check.near(sampled, profile.weight(), 1, "weight of the profile, in ms");
        double program = report.cpuMs() - report.agentCpuMs();
        Check.near(program, sampled, 0.1 * program, "sampled time against the CPU time of the process, in ms");
        Report.ThreadRow row = report.thread("main");
        Check.near(row.cpuMs, row.sampledMs, 0.1 * row.cpuMs, "sampled time of the main thread, in ms");
        Check.near(row.sampledMs, main.weight(), 1, "weight of the main thread's track, in ms");
    }

    private static void checkFrames(Profile profile, Track main) {
        List<Sample> inJavac = main.samples.stream()
            .filter(sample -> sample.has(JAVAC + "main.JavaCompiler.compile")).collect(Collectors.toList());
        Check.atLeast(0.5 * main.samples.size(), inJavac.size(), "samples below JavaCompiler.compile");
        int functions = 0;
        for (String function : profile.functions()) {
            functions += function.startsWith(JAVAC) ? 1 : 0;
        }
        Check.atLeast(500, functions, "functions of javac");
        String resource = Vm.major() == 8 ? "tools.jar" : "jdk.compiler";
        for (Frame frame : profile.frames()) {
            if (frame.function.equals("java.util.HashMap.getNode")) {
                frame.checkCategory("JDK");
            }
            // Two dollar signs mark a class that the JVM generated, which has no source.
            if (frame.function.startsWith(JAVAC) && !frame.function.contains("$$")) {
                // The compiler is the application, and the JDK's other classes are the JDK.
                frame.checkCategory("Application");
                Check.equal(resource, frame.resource, "resource of " + frame);
                Check.that(frame.file != null && frame.file.matches("com/sun/tools/javac/.*\\.java"), "file of " + frame);
                Check.atLeast(1, frame.line, "line of " + frame);
                Check.atLeast(1, frame.firstLine, "first line of " + frame);
            }
        }
    }

    private static void checkPower(double before, Walked spoiled) {
        double noticed = (double) spoiled.noticed / spoiled.tried;
        Check.atLeast(Check.leastOf(spoiled.tried, 0.95), spoiled.noticed, "stacks with a dropped frame that proof noticed");
        double expected = before + (1 - before) * noticed / EVERY;
        // The power is measured with one dropped frame in newly drawn stacks, so it is not exactly
        // the share that was noticed here.
        double chance = Check.FAR * Math.sqrt(expected * (1 - expected) / spoiled.stacks);
        Check.near(expected, spoiled.refutedShare(), 0.05 * expected + chance, "share of refuted stacks");
    }

    private static long classes(String output) throws IOException {
        try (Stream<Path> files = Files.walk(Paths.get(output))) {
            return files.filter(file -> file.toString().endsWith(".class")).count();
        }
    }
}
