/*
 * Uses jcmd as the documentation says: `jcmd PID JVMTI.agent_load …/libvouch.so "out=FILE"`. Its
 * user sees only jcmd's output. So a mistake must give a return code that is not 0, and the JVM's
 * stderr has the details.
 *
 * @test
 * @summary the agent is loaded, and stopped, by jcmd
 * @key attach
 * @requires jdk.version.major >= 9
 * @library /lib
 * @build dev.vouch.test.*
 * @run main Jcmd
 */

import java.io.IOException;
import java.nio.file.Files;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Skip;
import dev.vouch.test.Vm;

public class Jcmd {
    public static void main(String[] args) {
        Skip.unless(Files.exists(Vm.jdk().resolve("bin/jcmd")), "this JDK has no jcmd");
        try (Running child = Vm.without().flags("-XX:+EnableDynamicAgentLoading", "-XX:+IgnoreUnrecognizedVMOptions").start(Program.class)) {
            child.awaitOut("ready");
            Check.contains(load(child, "out=profile.json,report=report.json,engien=perf"), "return code: -1", "what jcmd says to a mistake");
            child.awaitErr("[vouch] unknown key engien: did you mean engine?");
            Check.contains(load(child, "out=profile.json,report=report.json"), "return code: 0", "what jcmd says to a good start");
            child.stdin().println();
            child.awaitOut("burnt");
            Check.contains(load(child, "stop"), "return code: 0", "what jcmd says to stop");
            Check.that(Files.exists(child.dir.resolve("profile.json")), "stop has written nothing into the working folder of the JVM");
            child.stdin().println();
            Run run = child.waitFor().ok();
            Check.atLeast(70, run.profile().track("main").weightOf("Jcmd$Program.main"), "weight of main");
            Check.empty(run.otherErr(), "lines on stderr that are not Vouch's");
        }
    }

    /**
     * jcmd interprets the text after a `=` itself, unless it is in quotes that the shell passes on.
     */
    private static String load(Running child, String options) {
        return child.jcmd("JVMTI.agent_load", Vm.agent().toString(), "\"" + options + "\"").out.toString();
    }

    static class Program {
        public static void main(String[] args) throws IOException {
            System.out.println("ready");
            System.in.read();
            Burn.millis(100);
            System.out.println("burnt");
            System.in.read();
        }
    }
}
