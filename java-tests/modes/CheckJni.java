/*
 * Under -Xcheck:jni the JVM checks every use of JNI, including the agent's. People run their tests
 * this way. A warning that the agent causes would make them search for a mistake in their own code.
 *
 * @test
 * @summary -Xcheck:jni prints no warning that it does not print without the agent
 * @key attach
 * @library /lib
 * @build dev.vouch.test.*
 * @run main CheckJni
 */

import java.util.ArrayList;
import java.util.List;

import dev.vouch.test.Attach;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Vm;

public class CheckJni {
    private static final String[] WORDS = {"WARNING in native method", "FATAL ERROR in native method", "WARNING: JNI"};

    public static void main(String[] args) {
        List<String> before = complaints(Vm.without().flags("-Xcheck:jni").run(Mix.class, Mix.ARGUMENTS));

        Run run = Mix.profiled(Vm.with("interval=1ms").flags("-Xcheck:jni"), Mix.class);
        none(before, complaints(run), "complaints with the agent from the start");

        try (Running child = Vm.without().flags("-Xcheck:jni").start(Program.class)) {
            child.awaitOut("ready");
            try (Attach attach = Attach.to(child)) {
                attach.must("out=profile.json,report=report.json,interval=1ms");
                attach.must("dump");
            }
            child.stdin().println();
            Run late = child.waitFor();
            Mix.check(late);
            none(before, complaints(late), "complaints with the agent loaded late");
        }
    }

    /**
     * There must be no warnings besides those without the agent: old JDKs warn about themselves.
     */
    private static void none(List<String> before, List<String> now, String what) {
        before.forEach(now::remove);
        Check.empty(now, what);
    }

    /**
     * The warnings, on stdout or on stderr with newer JVMs, with the frames below them if the JVM
     * prints any.
     */
    private static List<String> complaints(Run run) {
        List<String> found = new ArrayList<>(run.out);
        found.addAll(run.otherErr());
        found.removeIf(line -> {
            for (String word : WORDS) {
                if (line.contains(word)) {
                    return false;
                }
            }
            return true;
        });
        return found;
    }

    static class Program {
        public static void main(String[] args) throws Exception {
            // Enough threads to exhaust an agent's local references, if it kept one for each.
            for (int i = 0; i < 80; i++) {
                Thread thread = new Thread(Program::sleep, "sleeper " + i);
                thread.setDaemon(true);
                thread.start();
            }
            System.out.println("ready");
            System.in.read();
            Mix.main(Mix.ARGUMENTS);
        }

        private static void sleep() {
            try {
                Thread.sleep(Long.MAX_VALUE);
            } catch (InterruptedException end) {
                throw new IllegalStateException(end);
            }
        }
    }
}
