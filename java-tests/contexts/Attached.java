/*
 * A service that must not be restarted names its contexts from its start. The agent is attached
 * later, stopped and started again. Before the attach the library costs nothing and fails nothing.
 * From then on samples have contexts, also those of a second copy of the library. (Each web
 * application brings its own copy.) A second recording has to learn all contexts anew.
 *
 * @test
 * @summary contexts of a program that the agent is attached to, stopped in, and started in again
 * @key attach newest
 * @library /lib /api/src
 * @build dev.vouch.test.* dev.vouch.Vouch
 * @run main/timeout=200 Attached
 */

import java.nio.file.Path;
import java.util.Scanner;

import dev.vouch.Scope;
import dev.vouch.Vouch;
import dev.vouch.test.Attach;
import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Profile;
import dev.vouch.test.Running;
import dev.vouch.test.Sample;
import dev.vouch.test.SecondCopy;
import dev.vouch.test.Vm;

public class Attached {
    public static void main(String[] args) {
        try (Running child = Vm.without().start(Service.class)) {
            child.awaitOut("ready");
            try (Attach attach = Attach.to(child)) {
                Path first = child.dir.resolve("first.json");
                Path second = child.dir.resolve("second.json");
                attach.must("out=" + first + ",interval=1ms");
                work(child, "first");
                attach.must("stop");
                work(child, "unseen");
                attach.must("out=" + second + ",interval=1ms");
                work(child, "second");
                attach.must("stop");
                check(Profile.read(first), "first");
                check(Profile.read(second), "second");
            }
            child.stdin().println("exit");
            child.waitFor().ok();
        }
    }

    private static void work(Running child, String name) {
        child.stdin().println(name);
        child.awaitOut("done " + name);
    }

    private static void check(Profile profile, String name) {
        long own = 0;
        long copy = 0;
        for (Sample sample : profile.samples()) {
            String said = sample.says("value");
            if (said == null) {
                // A context that was created before the agent came has no name, so its samples have
                // none.
                continue;
            }
            if (sample.leaf().holds()) {
                boolean byCopy = said.equals("copy of " + name);
                Check.that(byCopy || said.equals(name), "context of " + sample + ": " + said);
                Check.that(sample.has(byCopy ? "Attached$Copy.run" : "Attached$Service$Same.run"), "work in " + sample);
                own += byCopy ? 0 : 1;
                copy += byCopy ? 1 : 0;
            }
        }
        Check.that(own > 0, "no sample of " + name);
        Check.that(copy > 0, "no sample of the second copy of the library in " + name);
    }

    static class Service {
        public static void main(String[] args) throws Exception {
            Runnable same = new Same();
            try (Scope early = Vouch.with("early")) {
                Check.that(Vouch.wrap(same) == same, "without the agent work is wrapped");
                Check.that(early == Vouch.with("another"), "without the agent scopes are made");
                Runnable copy = copy();
                System.out.println("ready");
                Scanner in = new Scanner(System.in);
                for (String line = in.nextLine(); !line.equals("exit"); line = in.nextLine()) {
                    name = line;
                    same.run();
                    System.setProperty("attached.name", line);
                    copy.run();
                    System.out.println("done " + line);
                }
            }
        }

        static String name;

        static final class Same implements Runnable {
            @Override
            public void run() {
                try (Scope scope = Vouch.with(name)) {
                    work();
                }
            }
        }

        static void work() {
            Burn.millis(40);
        }

        /** Loads the library again in another class loader, which shares nothing with this one. */
        private static Runnable copy() throws Exception {
            java.lang.reflect.Constructor<?> made = SecondCopy.loader().loadClass("Attached$Copy").getDeclaredConstructor();
            made.setAccessible(true);
            return (Runnable) made.newInstance();
        }
    }

    static final class Copy implements Runnable {
        Copy() {
            Vouch.with("before the agent").close();
        }

        @Override
        public void run() {
            try (Scope scope = Vouch.with("copy of " + System.getProperty("attached.name"))) {
                Service.work();
            }
        }
    }
}
