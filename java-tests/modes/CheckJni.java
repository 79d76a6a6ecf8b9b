/*
 * Under -Xcheck:jni the JVM watches every use of JNI, the agent's own included. People run their
 * tests so, and a warning that comes from the profiler would send them looking for a fault in their
 * own code.
 *
 * @test
 * @summary -Xcheck:jni has nothing to say that it has not to say without the agent
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

    /** None that there are not without the agent: old JDKs complain of themselves. */
    private static void none(List<String> before, List<String> now, String what) {
        before.forEach(now::remove);
        Check.empty(now, what);
    }

    /**
     * On stdout, or on stderr with newer JVMs; each with the frames below it, where the JVM shows
     * them.
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
            // Many, so that an agent that keeps a reference to each runs out of room for them.
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
