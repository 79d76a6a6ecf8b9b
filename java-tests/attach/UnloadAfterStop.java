/*
 * After `stop` the agent stays in the process, but it must keep no classes alive. Once the program
 * drops a class loader, its classes must be unloaded, since no recording needs their names.
 * Otherwise a service that generates classes would run out of memory after a single profile.
 *
 * @test
 * @summary classes are unloaded after stop, and while nothing was ever recorded
 * @key attach
 * @library /lib
 * @build dev.vouch.test.*
 * @run main UnloadAfterStop
 */

import java.lang.ref.WeakReference;
import java.util.Scanner;

import dev.vouch.test.Attach;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.SelfDefiningLoader;
import dev.vouch.test.Vm;

public class UnloadAfterStop {
    public static void main(String[] args) {
        try (Running child = Vm.without().start(Program.class)) {
            child.awaitOut("ready");
            try (Attach attach = Attach.to(child)) {
                attach.must("quiet");
                attach.must("stop");
            }
            child.stdin().println("go");
            Check.equal("true", child.waitFor().ok().value("unloaded"), "a class is unloaded after stop");
        }
        Run lab = Vm.lab("lab").noFiles().run(Program.class, "at once").ok();
        Check.equal("true", lab.value("unloaded"), "a class is unloaded where nothing is recorded");
    }

    static class Program {
        /** Unloading a class may need more than one collection. */
        private static final int COLLECTIONS = 100;

        public static void main(String[] args) throws Exception {
            System.out.println("ready");
            if (args.length == 0) {
                new Scanner(System.in).nextLine();
            }
            WeakReference<Class<?>> dropped = load();
            for (int i = 0; i < COLLECTIONS && dropped.get() != null; i++) {
                System.gc();
                Thread.sleep(100);
            }
            System.out.println("unloaded=" + (dropped.get() == null));
        }

        private static WeakReference<Class<?>> load() throws Exception {
            Class<?> loaded = new SelfDefiningLoader(Dropped.class).load();
            Check.that(loaded != Dropped.class, "the class has a loader of its own");
            loaded.getDeclaredConstructor().newInstance();
            return new WeakReference<>(loaded);
        }
    }

    public static class Dropped {
        public Dropped() {}
    }
}
