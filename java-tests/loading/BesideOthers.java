/*
 * Other agents are often in a JVM already: an instrumenting -javaagent, the debugger's agent, and
 * JFR. (JFR may have its own CPU-time sampler.) Each must go on with its work, and the profile must
 * be as good as without them.
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
        // JFR's CPU-time sampler finds SIGPROF taken and stops. Its timers were not counted here.
        Check.that(!otherSampler || run.out.stream().anyMatch(line -> line.contains("Conflicting SIGPROF handler found")),
            "JFR did not ask for SIGPROF: " + run.out);
        // Some of the JVM's capabilities are exclusive, so the agent that comes last may lack them.
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
        // Vouch was allowed to read bytecode and line numbers.
        Check.atLeast(1, run.report().samples("proven"), "proven samples");
        boolean lines = run.profile().track("main").samples.stream().flatMap(sample -> sample.frames().stream())
            .anyMatch(frame -> frame.function.equals("dev.vouch.test.Burn.millis") && frame.line > 0);
        Check.that(lines, "no frame of Burn.millis has a line");
    }

    /** Returns a copy of each class, so that the JVM redefines it. */
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
