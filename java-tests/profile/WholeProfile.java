/*
 * Checks what a user sees first: every thread under the JVM's name, with its lifetime, and in it
 * the program's own methods with file and line, distinguished from the JDK's. The program's methods
 * are all known, and it prints when its threads ran.
 *
 * @test
 * @summary Threads, life spans, methods, files, lines, categories and resources of a known program
 * @library /lib
 * @build dev.vouch.test.* app.Program app.Hidden
 * @run main WholeProfile
 */

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

import app.Hidden;
import app.Program;
import dev.vouch.test.Check;
import dev.vouch.test.Frame;
import dev.vouch.test.Profile;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.Track;
import dev.vouch.test.Vm;

public class WholeProfile {
    /** Times in the file are rounded to the microsecond. */
    private static final double ROUNDING_MS = 0.001;

    private final Run run = Vm.with("interval=1ms").run(Program.class).ok();
    private final Profile profile = run.profile();
    private final Map<String, int[]> ranges = new HashMap<>();

    public static void main(String[] args) throws IOException {
        WholeProfile test = new WholeProfile();
        test.readRanges("Program.java");
        test.readRanges("Hidden.java");
        test.everyThreadIsThere();
        test.livesAreWhereTheyWere();
        test.mainIsTheMainThread();
        test.methodsHaveTheirTime();
        test.ownFramesSayWhereTheyAre();
        test.jdkFramesSayWhereTheyAre();
        test.namesAreReadable();
    }

    /**
     * The lines between two comments in a source are the lines of the method that the comments
     * name.
     */
    private void readRanges(String file) throws IOException {
        Path source = Paths.get(System.getProperty("test.src"), "app", file);
        List<String> lines = Files.readAllLines(source, StandardCharsets.UTF_8);
        for (int at = 0; at < lines.size(); at++) {
            String[] words = lines.get(at).trim().split(" ");
            if (words.length == 3 && words[1].equals("begin")) {
                ranges.put("app." + words[2], new int[] {at + 2, 0});
            } else if (words.length == 3 && words[1].equals("end")) {
                ranges.get("app." + words[2])[1] = at;
            }
        }
    }

    private void everyThreadIsThere() {
        for (String name : new String[] {Program.ALPHA, Program.BETA, Program.GAMMA}) {
            Check.equal(1, profile.tracks(name).size(), "tracks of thread " + name + " among " + profile.names());
        }
        int listed = 0;
        for (String line : run.out) {
            if (line.startsWith("thread: ")) {
                listed++;
                Check.contains(profile.names(), line.substring("thread: ".length()), "tracks of the program's threads");
            }
        }
        Check.atLeast(4, listed, "threads that the program itself saw");
    }

    private void livesAreWhereTheyWere() {
        double end = run.number("end") / 1e6;
        for (String name : new String[] {Program.ALPHA, Program.BETA, Program.GAMMA}) {
            String label = Program.label(name);
            double created = run.number(label + ".created") / 1e6;
            double first = run.number(label + ".first") / 1e6;
            double last = run.number(label + ".last") / 1e6;
            Track track = profile.track(name);
            Check.between(created - ROUNDING_MS, track.startMs, first + ROUNDING_MS, "start of " + label);
            Check.between(last - ROUNDING_MS, track.endMs, end, "end of " + label);
            double ran = run.report().thread(name).cpuMs;
            double own = run.number(label + ".cpu") / 1e6;
            Check.between(own, ran, own + 30, "CPU time of " + label + " by the report and by itself");
            run.report().checkConserved(name);
            for (Sample sample : track.samples) {
                Check.between(track.startMs - ROUNDING_MS, sample.timeMs, track.endMs + ROUNDING_MS, "sample of " + label);
                if (sample.has("app.Program$Alpha.alpha") || sample.has("app.Program.burn") || sample.has("app.Program.sort")) {
                    Check.between(first - ROUNDING_MS, sample.timeMs, last + ROUNDING_MS, "sample of the work of " + label);
                }
            }
        }
        double begin = run.number("begin") / 1e6;
        for (Sample sample : profile.track("main").samples) {
            if (sample.has("app.Program.burn")) {
                Check.between(begin, sample.timeMs, end, "time of a sample of the main thread's work");
            }
        }
    }

    private void mainIsTheMainThread() {
        for (Track track : profile.tracks) {
            Check.equal(track.name.equals("main"), track.isMain, "main thread? " + track);
        }
    }

    private void methodsHaveTheirTime() {
        Track main = profile.track("main");
        profile.track(Program.ALPHA).checkRan("app.Program$Alpha.alpha", Program.ALPHA_MS);
        profile.track(Program.BETA).checkRan("app.Program$Inner$Innermost.run", Program.INNER_MS);
        profile.track(Program.BETA).checkRan("dev.vouch.test.Burn.millis", Program.INNER_MS);
        main.checkRan("app.Program$1.run", Program.ANONYMOUS_MS);
        main.checkRan("app.Program.lambda$main$0", Program.LAMBDA_MS);
        if (!run.value("hidden").equals("none")) {
            main.checkRan("app.Hidden.run", Program.HIDDEN_MS);
        }
        // The walker may lose a stack, but a stack that it shows is whole.
        rootsAt("java.lang.Thread.run", profile.track(Program.ALPHA), "app.Program$Alpha.alpha");
        rootsAt("java.lang.Thread.run", profile.track(Program.BETA), "app.Program.burn");
        rootsAt("app.Program.main", main, "app.Program.burn");
    }

    private static void rootsAt(String root, Track track, String function) {
        for (Sample sample : track.samples) {
            if (sample.has(function)) {
                Check.equal(root, sample.root().function, "root of " + sample);
            }
        }
    }

    private void ownFramesSayWhereTheyAre() {
        String folder = run.value("folder");
        String resource = Paths.get(folder).getFileName().toString();
        Map<String, Integer> seen = new HashMap<>();
        for (Frame frame : profile.frames()) {
            if (!frame.function.startsWith("app.") || frame.function.contains("$$Lambda")) {
                continue;
            }
            String file = frame.function.startsWith("app.Hidden.") ? "app/Hidden.java" : "app/Program.java";
            Check.equal(file, frame.file, "file of " + frame);
            frame.checkCategory("Application");
            Check.equal(resource, frame.resource, "resource of " + frame);
            Check.that(frame.java, frame + " is marked as Java");
            int[] range = ranges.get(frame.function.replace("Program.lambda$main$0", "lambda"));
            if (range != null) {
                seen.merge(frame.function, 1, Integer::sum);
                // The closing brace of a void method has its own line.
                Check.between(range[0], frame.line, range[1] + 2, "line of " + frame);
                Check.equal(range[0], frame.firstLine, "first line of " + frame);
            }
        }
        int marked = ranges.size() - (run.value("hidden").equals("none") ? 1 : 0);
        Check.equal(marked, seen.size(), "marked methods that were sampled: " + seen.keySet() + " of " + ranges.keySet());
    }

    private void jdkFramesSayWhereTheyAre() {
        String base = Vm.major() == 8 ? "rt.jar" : "java.base";
        Track track = profile.track(Program.GAMMA);
        // The number of stacks that the walker loses in the JDK's code depends on the JDK.
        long sort = track.weightOf("java.util.Arrays.sort");
        Check.atLeast(0.4 * Program.JDK_MS, sort, "weight of Arrays.sort, in ms");
        // The caller ran as long as the thread did, by its own clock. A sample may stand for time
        // that was due before it.
        double most = run.number(Program.label(Program.GAMMA) + ".cpu") / 1e6 + run.report().sampledIntervalUs() / 1e3 + 1;
        Check.between(sort, track.weightOf("app.Program.sort"), most, "weight of its caller, in ms");
        int frames = 0;
        for (Sample sample : track.samples) {
            for (Frame frame : sample.frames()) {
                if (frame.function.startsWith("java.util.")) {
                    frames++;
                    frame.checkCategory("JDK");
                    Check.equal(base, frame.resource, "resource of " + frame);
                    Check.that(frame.file != null && frame.file.matches("java/util/[\\w/]+\\.java"), "file of " + frame);
                    Check.atLeast(1, frame.line, "line of " + frame);
                }
            }
        }
        Check.atLeast(1, frames, "frames of java.util");
    }

    private void namesAreReadable() {
        Predicate<String> odd = name -> name.matches(".*(0x[0-9a-f]|/[0-9]).*") || name.contains("/");
        for (Frame frame : profile.frames()) {
            Check.that(!odd.test(frame.function), "a name with an address or a slash: " + frame);
            Check.that(frame.file == null || !frame.file.contains("0x"), "a file with an address: " + frame);
            Check.that(!frame.function.equals("[unknown method]"), "a method without a name");
        }
        String hidden = run.value("hidden");
        if (Vm.major() >= 15) {
            Check.that(hidden.startsWith(Hidden.class.getName() + "/0x"), "a hidden class was defined: " + hidden);
        }
        boolean lambda = profile.functions().stream().anyMatch(name -> name.matches("app\\.Program\\$\\$Lambda(\\$\\d+)?\\.run"));
        Check.that(lambda, "the lambda's own class is among " + profile.functions());
    }
}
