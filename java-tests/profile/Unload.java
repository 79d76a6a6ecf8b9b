/*
 * A class is loaded, runs for a millisecond and is unloaded before the profile is written, more
 * than a thousand times. Script engines, serializers and mocks do that. Each class must be in the
 * profile under its own name, and asking for a name must never crash the JVM. The program prints
 * when each class ran: a sample of that time must have its name and no other.
 *
 * @test id=default
 * @summary Names survive unloading, default collector
 * @library /lib
 * @build dev.vouch.test.* fresh.Spinner fresh.Fresh00000
 * @run main/timeout=300 Unload default 1000
 */
/*
 * @test id=parallel
 * @summary Names survive unloading, Parallel
 * @library /lib
 * @build dev.vouch.test.* fresh.Spinner fresh.Fresh00000
 * @run main/timeout=300 Unload Parallel 300
 */
/*
 * @test id=z
 * @summary Names survive unloading, ZGC
 * @library /lib
 * @build dev.vouch.test.* fresh.Spinner fresh.Fresh00000
 * @run main/timeout=300 Unload Z 300
 */
/*
 * @test id=shenandoah
 * @summary Names survive unloading, Shenandoah
 * @library /lib
 * @build dev.vouch.test.* fresh.Spinner fresh.Fresh00000
 * @run main/timeout=300 Unload Shenandoah 300
 */

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

import dev.vouch.test.Check;
import dev.vouch.test.Frame;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.Scale;
import dev.vouch.test.Skip;
import dev.vouch.test.Vm;
import fresh.Spinner;

public class Unload {
    /** Times in the file are rounded to the microsecond. */
    private static final double ROUNDING_MS = 0.001;

    public static void main(String[] args) throws IOException {
        int count = Scale.pick(Integer.parseInt(args[1]), 2000);
        Vm vm = Vm.with("interval=250us").flags("-Xmx512m");
        if (!args[0].equals("default")) {
            String flag = "-XX:+Use" + args[0] + "GC";
            Skip.unless(Vm.without().collector(flag).runCommand("-version").exit == 0, "this JDK has no " + flag);
            Skip.unless(!args[0].equals("Z") || Vm.major() >= 12, "ZGC unloads no classes before JDK 12");
            vm.collector(flag);
        }
        Run run = vm.run(Spinner.class, Integer.toString(count)).ok();

        // The trigger: more than half were unloaded while the program ran. The collector decides
        // when the youngest go, and the agent keeps a class until it has its names.
        Check.atLeast(0.5 * count, run.number("collected"), "loaders that were collected before the last class ran");
        Check.equal(0, run.report().namesLost(), "names_lost");
        Map<String, double[]> times = times(run);
        Set<String> sampled = checkNames(run, times);
        double met = Math.min(1, run.report().signalsIn(Spinner.CLASS_MS));
        Check.atLeast(0.9 * Check.leastOf(count - restedThrough(run, times), met), sampled.size(), "classes in the profile");
        for (Frame frame : run.profile().frames()) {
            Check.that(!frame.function.equals("[unknown method]"), "a method without a name");
        }
    }

    /** The time at which each class ran, in ms, by the digits in its name. */
    private static Map<String, double[]> times(Run run) throws IOException {
        Map<String, double[]> times = new HashMap<>();
        List<String> lines = Files.readAllLines(run.dir.resolve("classes"), StandardCharsets.UTF_8);
        for (String line : lines) {
            String[] words = line.split(" ");
            times.put(words[0], new double[] {Long.parseLong(words[1]) / 1e6, Long.parseLong(words[2]) / 1e6});
        }
        return times;
    }

    /**
     * The number of classes that ran while the thread rested after a slow walk, for example because
     * the host took the core away during it. The sample that ends the rest stands for all of their
     * time.
     */
    private static int restedThrough(Run run, Map<String, double[]> times) {
        List<Sample> samples = run.profile().track("main").samples;
        double interval = run.report().json.get("interval_us").getAsDouble() / 1e3;
        int rested = 0;
        for (double[] ran : times.values()) {
            for (int next = 1; next < samples.size(); next++) {
                boolean spans = samples.get(next - 1).timeMs < ran[0] && ran[1] < samples.get(next).timeMs;
                rested += spans && samples.get(next).weight * interval >= Spinner.CLASS_MS ? 1 : 0;
            }
        }
        return rested;
    }

    /**
     * Compares every frame of the fresh classes with the time of its sample. Returns the classes
     * that were seen.
     */
    private static Set<String> checkNames(Run run, Map<String, double[]> times) {
        Set<String> sampled = new HashSet<>();
        for (Sample sample : run.profile().track("main").samples) {
            for (Frame frame : sample.frames()) {
                if (!frame.function.startsWith("fresh.Fresh")) {
                    continue;
                }
                String digits = frame.function.substring("fresh.Fresh".length(), "fresh.Fresh00000".length());
                boolean method = frame.function.equals("fresh.Fresh" + digits + ".spin" + digits)
                    || frame.function.equals("fresh.Fresh" + digits + ".run")
                    || frame.function.equals("fresh.Fresh" + digits + ".<init>");
                Check.that(method, "a method that no fresh class has: " + frame);
                Check.equal("fresh/Fresh" + digits + ".java", frame.file, "file of " + frame);
                Check.atLeast(1, frame.line, "line of " + frame);
                double[] ran = times.get(digits);
                Check.that(ran != null, "a class that never was: " + frame);
                Check.between(ran[0] - ROUNDING_MS, sample.timeMs, ran[1] + ROUNDING_MS,
                    "time of a sample that is said to be of class " + digits);
                sampled.add(digits);
            }
        }
        return sampled;
    }
}
