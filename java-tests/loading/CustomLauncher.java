/*
 * Servers, editors and databases create a JVM inside their process, without `java`. Their first
 * thread may call any Java method first, so its stacks may begin anywhere. The first methods that
 * the JDK's own launcher calls are known, and stacks may begin there too.
 *
 * @test
 * @summary a custom launcher's first thread may begin anywhere, and nothing of Vouch outlives the
 * JVM
 * @library /lib
 * @build dev.vouch.test.*
 * @run main CustomLauncher
 */

import java.lang.instrument.Instrumentation;
import java.util.ArrayList;
import java.util.List;

import dev.vouch.test.Burn;
import dev.vouch.test.CCompiler;
import dev.vouch.test.Check;
import dev.vouch.test.JavaAgent;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.Skip;
import dev.vouch.test.Vm;

public class CustomLauncher {
    private static final String WORK = "CustomLauncher$Program.work";
    private static final int MS = 400;

    public static void main(String[] args) {
        for (int times = 0; times < 3; times++) {
            notWrong(Vm.with("interval=50us,recovery=off").runCommand("-showversion", "-version").ok());
        }
        String host = CCompiler.host("host").toString();
        Run probe = Vm.without().launcher(host).run(Program.class, "0", "0");
        Skip.unless(probe.exit == 0, "a program of this system's cannot load this JVM: " + probe.err);
        for (String walker : new String[] {"auto", "asgct"}) {
            // One call takes long. Then many short calls leave the stack empty when the agent asks
            // the JVM about the thread.
            called(Vm.with("interval=1ms,walker=" + walker).launcher(host).run(Program.class, "1", Integer.toString(MS)).ok());
            called(Vm.with("interval=1ms,walker=" + walker).launcher(host).run(Program.class, Integer.toString(MS), "1").ok());
        }
        for (String engine : new String[] {"auto", "perf", "timer", "poll", "itimer"}) {
            for (int times = 0; times < 2; times++) {
                Run run = Vm.with("interval=1ms,engine=" + engine).env("HOST_SHOWS_REMAINS", "yes").launcher(host)
                        .run(Program.class, "1", "100");
                if (run.exit != 0 && engine.equals("perf")) {
                    continue;
                }
                leftNothing(run.ok(), engine);
            }
        }
        // The library for Java agents brings parts of the launcher into the process.
        String agent = JavaAgent.option(Program.class);
        called(Vm.with("interval=1ms").flags(agent).launcher(host).run(Program.class, "1", Integer.toString(MS)).ok());
    }

    private static void called(Run run) {
        notWrong(run);
        long begun = run.profile().track("main").samples.stream().filter(CustomLauncher::begins).mapToLong(sample -> sample.weight).sum();
        Check.between(0.8 * MS, begun, 1.5 * MS, "weight of what begins in " + WORK);
    }

    /** After its JVM has ended, the process has no thread, descriptor or handler of the agent. */
    private static void leftNothing(Run run, String engine) {
        List<String> all = new ArrayList<>(run.out);
        Check.that(all.stream().anyMatch(line -> line.startsWith("handler ")), "the launcher shows nothing: " + run.out);
        all.removeIf(line -> !line.matches("(descriptor .*(perf_event|vouch).*|thread Vouch.*|handler .*vouch.*)"));
        Check.empty(all, "what engine=" + engine + " left");
    }

    private static void notWrong(Run run) {
        Check.equal(0L, run.report().refuted("wrong_root"), "stacks that are said to begin where no thread does");
    }

    private static boolean begins(Sample sample) {
        return sample.root().function.equals(WORK);
    }

    static class Program {
        public static void premain(String args, Instrumentation jvm) {}

        public static void main(String[] args) {
            throw new AssertionError("it is never called");
        }

        static void work(int millis) {
            Burn.millis(millis);
        }
    }
}
