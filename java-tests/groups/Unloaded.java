/*
 * An application brings its own copy of the library, uses all of it on a foreign thread, and is
 * undeployed. Its class loader must become collectable, and its tasks must stay in the report.
 *
 * @test
 * @summary a library copy that used tasks, markers and contexts can be unloaded
 * @library /lib /api/src
 * @build dev.vouch.test.* dev.vouch.Vouch
 * @run main/timeout=200 Unloaded
 */

import java.lang.ref.WeakReference;
import java.net.URLClassLoader;

import dev.vouch.Group;
import dev.vouch.Jank;
import dev.vouch.Marker;
import dev.vouch.Scope;
import dev.vouch.Task;
import dev.vouch.Vouch;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.SecondCopy;
import dev.vouch.test.Vm;

public class Unloaded {
    private static final int TASKS = 500;

    public static void main(String[] args) {
        Run run = Vm.with("interval=1ms").run(Program.class).ok();
        long tasks = run.report().json.getAsJsonObject("groups").getAsJsonObject("application").get("tasks").getAsLong();
        Check.equal((long) TASKS, tasks, "tasks of the application that is gone");
    }

    /** Uses everything that the library offers to an application. */
    public static final class Application implements Runnable {
        private static final Marker<String> MARKER = Vouch.marker(String.class).withStack();

        @Override
        public void run() {
            Group group = Vouch.group("application");
            try (Jank jank = Vouch.onJank(group, 1, 1, 1, took -> { })) {
                for (int at = 0; at < TASKS; at++) {
                    try (Task task = group.enter(); Scope scope = Vouch.with("application")) {
                        MARKER.commit("application");
                    }
                }
            }
            Vouch.snapshot();
        }
    }

    static final class Program {
        public static void main(String[] args) throws Exception {
            WeakReference<ClassLoader> application = application();
            for (int i = 0; i < 100 && application.get() != null; i++) {
                System.gc();
                Thread.sleep(100);
            }
            Check.that(application.get() == null, "the application's class loader is still there");
        }

        private static WeakReference<ClassLoader> application() throws Exception {
            URLClassLoader loader = SecondCopy.loader();
            ((Runnable) loader.loadClass(Application.class.getName()).getConstructor().newInstance()).run();
            loader.close();
            return new WeakReference<>(loader);
        }
    }
}
