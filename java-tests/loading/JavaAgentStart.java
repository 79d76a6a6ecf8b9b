/*
 * Before main, a Java agent's native code calls Java methods on the first thread: it extends the
 * class path, and calls the agent. Stacks that begin there are right. JDK 8 extends the class path
 * with hardly any Java code, so there is nothing to be sampled.
 *
 * @test
 * @summary no stack of the start of Java agents is refuted
 * @library /lib
 * @build dev.vouch.test.*
 * @run main JavaAgentStart
 */

import java.lang.instrument.Instrumentation;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.JavaAgent;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.Track;
import dev.vouch.test.Vm;

public class JavaAgentStart {
    private static final int AGENTS = 200;
    private static final String EXTENDS = "appendToClassPathForInstrumentation";
    private static final String STARTS = "loadClassAndCallPremain";

    public static void main(String[] args) {
        // Agents begin in their order, and `vouch run` comes first.
        List<String> command = new ArrayList<>(Collections.nCopies(AGENTS, JavaAgent.option(Premain.class)));
        command.addAll(Arrays.asList("-Djava.system.class.loader=" + Loader.class.getName(), "-cp", Vm.classPath(), Program.class.getName()));
        Run run = Vm.with("interval=100us").runCommand(command.toArray(new String[0])).ok();
        Check.equal((long) AGENTS, run.out.stream().filter("premain ran"::equals).count(), "agents that ran");
        Check.equal(0L, run.report().samples("refuted"), "refuted samples");
        Check.atLeast(1, rooted(run, STARTS), "samples of the agents' own start");
        Check.that(Vm.major() == 8 || rooted(run, EXTENDS) > 0, "no sample of the extended class path");
    }

    private static long rooted(Run run, String method) {
        long samples = 0;
        for (Track track : run.profile().tracks) {
            for (Sample sample : track.samples) {
                List<String> functions = sample.functions();
                samples += !functions.isEmpty() && functions.get(functions.size() - 1).endsWith("." + method) ? 1 : 0;
            }
        }
        return samples;
    }

    /**
     * Takes long enough to be sampled when an agent extends the class path, and is over when
     * Vouch could ask GetStackTrace about the root.
     */
    public static class Loader extends ClassLoader {
        public Loader(ClassLoader parent) {
            super(parent);
        }

        void appendToClassPathForInstrumentation(String path) {
            long start = System.nanoTime();
            while (System.nanoTime() - start < 200_000) {
                // Nothing but the clock.
            }
        }
    }

    public static class Premain {
        public static void premain(String arguments, Instrumentation instrumentation) {
            System.out.println("premain ran");
        }
    }

    static class Program {
        public static void main(String[] args) {
            Burn.millis(10);
        }
    }
}
