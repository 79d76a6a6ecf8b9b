/*
 * Beside what people already have in their JVMs: an instrumenting -javaagent, the debugger's agent,
 * Flight Recorder (with its own sampler of CPU time, where it has one). Each must go on doing its
 * own work, and the profile must be as good as alone.
 *
 * @test
 * @summary a Java agent, JDWP and JFR work beside Vouch, all at once
 * @library /lib
 * @build dev.vouch.test.*
 * @run main BesideOthers
 */

import java.io.IOException;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.file.Files;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.JavaAgent;
import dev.vouch.test.Run;
import dev.vouch.test.Vm;

public class BesideOthers {
    public static void main(String[] args) throws IOException {
        boolean flightRecorder = Files.exists(Vm.jdk().resolve("bin/jfr")) || Files.exists(Vm.jdk().resolve("lib/jfr.jar"));
        boolean otherSampler = flightRecorder && Vm.major() >= 25;
        List<String> others = others(flightRecorder, otherSampler ? ",jdk.CPUTimeSample#enabled=true,jdk.CPUTimeSample#throttle=5ms" : "");
        Run run = Vm.with("interval=1ms").flags(others.toArray(new String[0])).run(Program.class);
        together(run, flightRecorder);
        // JFR's own sampler of CPU time wants SIGPROF, finds it taken, and gives way: its timers
        // were not counted here.
        Check.that(!otherSampler || run.out.stream().anyMatch(line -> line.contains("Conflicting SIGPROF handler found")),
            "JFR did not ask for SIGPROF: " + run.out);
        // Who comes later finds what the first has left: some of the JVM's capabilities only one
        // agent can have.
        others = others(flightRecorder, "");
        others.addAll(Arrays.asList("-cp", Vm.classPath(), Program.class.getName()));
        together(Vm.with("interval=1ms").runCommand(others.toArray(new String[0])), flightRecorder);
    }

    private static List<String> others(boolean flightRecorder, String settings) {
        List<String> others = new ArrayList<>(Arrays.asList(JavaAgent.option(Premain.class),
            "-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:0"));
        if (flightRecorder) {
            others.add("-XX:StartFlightRecording=filename=flight.jfr,settings=profile" + settings);
        }
        return others;
    }

    private static void together(Run run, boolean flightRecorder) throws IOException {
        run.ok();
        Check.that(run.out.contains("premain ran"), "the Java agent did not run: " + run.out);
        Check.atLeast(1, run.number("transformed"), "classes that the Java agent saw");
        Check.that(run.out.stream().anyMatch(line -> line.startsWith("Listening for transport dt_socket")),
            "the debugger's agent did not start: " + run.out);
        if (flightRecorder) {
            Check.atLeast(10_000, Files.size(run.dir.resolve("flight.jfr")), "size of the flight recording");
        }
        run.report().checkConserved("main");
        run.profile().track("main").checkRan("BesideOthers$Program.burn", run.number("cpu_ms"));
        Check.contains(run.profile().functions(), "dev.vouch.test.Burn.millis", "functions of a class that was transformed");
        // It could ask for bytecode and lines.
        Check.atLeast(1, run.report().samples("proven"), "proven samples");
        boolean lines = run.profile().track("main").samples.stream().flatMap(sample -> sample.frames().stream())
            .anyMatch(frame -> frame.function.equals("dev.vouch.test.Burn.millis") && frame.line > 0);
        Check.that(lines, "no frame of Burn.millis has a line");
    }

    /** Hands every class back as a copy of itself, and so has the JVM define it anew. */
    public static class Premain implements ClassFileTransformer {
        static final AtomicInteger SEEN = new AtomicInteger();

        public static void premain(String arguments, Instrumentation instrumentation) throws Exception {
            instrumentation.addTransformer(new Premain(), true);
            instrumentation.retransformClasses(ArrayList.class, String.class);
            System.out.println("premain ran");
        }

        @Override
        public byte[] transform(ClassLoader loader, String name, Class<?> old, ProtectionDomain domain, byte[] bytes) {
            SEEN.incrementAndGet();
            return bytes.clone();
        }
    }

    static class Program {
        public static void main(String[] args) {
            long nanos = burn();
            System.out.println("cpu_ms=" + nanos / 1_000_000);
            System.out.println("transformed=" + Premain.SEEN);
        }

        private static long burn() {
            return Burn.millis(200);
        }
    }
}
