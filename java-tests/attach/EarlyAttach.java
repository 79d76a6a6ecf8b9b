/*
 * `vouch start` attaches while the JVM still starts: the class loader of the application is not
 * there yet. HotSpot makes no JVMTI environment then (JVMTI's start phase), and JDK 21 and later
 * load no agent. The recording must begin once that phase is over.
 *
 * @test
 * @summary an attach during the JVM's start begins a recording
 * @key attach
 * @library /lib
 * @build dev.vouch.test.*
 * @run main EarlyAttach
 */

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Profile;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Skip;
import dev.vouch.test.Tool;
import dev.vouch.test.Vm;

public class EarlyAttach {
    private static final long PATIENCE_MS = 30_000;
    private static final long REST_OF_START_MS = 1_000;

    public static void main(String[] args) throws Exception {
        Skip.unless(Vm.major() >= 9, "JDK 8 makes the class loader of the application later");
        Vm vm = Vm.without().flags("-Djava.system.class.loader=" + SlowLoader.class.getName());
        try (Running child = vm.start(Program.class)) {
            child.awaitOut("early");
            Tool started = Tool.vouch(child.dir, "start", Long.toString(child.pid()), "--interval", "1ms", "--out", "profile.json");
            Check.equal(0, started.exit, "exit code of vouch start, which printed " + started.text);
            child.stdin().println("go");
            Run run = child.waitFor().ok();
            Check.equal("true", run.value("is_asked"), "the trigger: the JVM was asked during its start");
            Check.atLeast(100, Profile.read(child.dir.resolve("profile.json")).track("main").weightOf("dev.vouch.test.Burn.millis"), "ms of the program's work");
        }
    }

    /** Delays the JVM's start until it listens for commands, and for a while after that. */
    public static class SlowLoader extends ClassLoader {
        public SlowLoader(ClassLoader parent) throws IOException, InterruptedException {
            super(parent);
            System.out.println("early");
            long until = System.currentTimeMillis() + PATIENCE_MS;
            boolean isAsked = false;
            while (!isAsked && System.currentTimeMillis() < until) {
                Thread.sleep(5);
                isAsked = listens();
            }
            Thread.sleep(REST_OF_START_MS);
            System.out.println("is_asked=" + isAsked);
        }

        private static boolean listens() throws IOException {
            for (File thread : new File("/proc/self/task").listFiles()) {
                File name = new File(thread, "comm");
                if (name.exists() && new String(Files.readAllBytes(name.toPath()), StandardCharsets.UTF_8).startsWith("Attach Listener")) {
                    return true;
                }
            }
            return false;
        }
    }

    static class Program {
        public static void main(String[] args) throws Exception {
            System.in.read();
            Burn.millis(300);
        }
    }
}
