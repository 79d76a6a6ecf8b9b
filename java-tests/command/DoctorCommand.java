/*
 * `vouch doctor` says what will work on this machine. It asks the agent, in a new JVM or in the one
 * that the user names. A recording must keep all that it promises.
 *
 * @test
 * @summary a recording does with each engine what vouch doctor predicts
 * @key attach newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main DoctorCommand
 */

import java.io.IOException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Tool;
import dev.vouch.test.Vm;

public class DoctorCommand {
    public static void main(String[] args) throws Exception {
        Path here = Paths.get("").toAbsolutePath();
        String told = Tool.vouch(here, "doctor").ok();
        Check.contains(told, "A JVM of " + Vm.jdk().resolve("bin/java"), "which JVM was asked");
        Check.contains(told, "native=on shows what runs inside of native methods", "what is said of native frames");
        Check.contains(told, "of the kernel", "what is said of frames of the kernel");
        Run elsewhere = Tool.start(here, Arrays.asList("env", "JAVA_HOME=/no/such/jdk"), "doctor").waitFor();
        Check.contains(String.join("\n", elsewhere.out), "JAVA_HOME is /no/such/jdk, which has no bin/java, so it is ignored", "what is said of a JDK that is not there");
        Report report = Vm.with("").run(Program.class).ok().report();
        Check.equal(report.engine(), auto(told), "the engine that is taken, as doctor says and as it is");
        for (String engine : new String[] {"perf", "timer"}) {
            Run run = Vm.with("engine=" + engine).run(Program.class);
            Check.equal(run.exit == 0, told.contains("engine=" + engine + " works\n"), "engine=" + engine + " works, as doctor says:\n" + told);
        }
        try (Running child = Vm.without().flags("-XX:+IgnoreUnrecognizedVMOptions", "-XX:+EnableDynamicAgentLoading").start(Program.class, "wait")) {
            child.awaitOut("ready");
            String pid = Long.toString(child.pid());
            String meant = Tool.vouch(here, "doctor", pid).ok();
            Check.contains(meant, "Process " + pid + ", DoctorCommand$Program", "which JVM was asked");
            Check.equal(auto(told), auto(meant), "the engine in either");
            Check.contains(meant, "code compiled before an attach has debug information only at safepoints", "what is said of a JVM that ran without the agent");
            Check.contains(Tool.vouch(here, "status", pid).ok(), "no recording is running", "it only asked");
            child.stdin().println();
            Run run = child.waitFor().ok();
            Check.empty(run.err, "what the JVM's own stderr was told");
            Check.empty(run.files(), "files");
        }
    }

    private static String auto(String told) {
        Matcher auto = Pattern.compile("engine=auto takes (\\w+), which samples each \\S+ of a thread's CPU time").matcher(told);
        Check.that(auto.find(), "doctor does not say which engine is taken:\n" + told);
        return auto.group(1);
    }

    static class Program {
        public static void main(String[] args) throws IOException {
            Burn.millis(20);
            System.out.println("ready");
            if (args.length > 0) {
                System.in.read();
            }
        }
    }
}
