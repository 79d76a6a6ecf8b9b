/*
 * A program's own SecurityManager (until JDK 23) decides what code may do. The agent must not call
 * it, since it might refuse, wait, or count calls. Even so the profile must say where classes come
 * from.
 *
 * @test
 * @summary the agent does not call the program's SecurityManager
 * @requires jdk.version.major < 24
 * @library /lib
 * @build dev.vouch.test.*
 * @run main SecurityManagerUnused
 */

import java.security.Permission;
import java.util.concurrent.atomic.AtomicInteger;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Vm;

public class SecurityManagerUnused {
    private static final long MS = 400;

    public static void main(String[] args) {
        Vm vm = Vm.with("interval=1ms");
        Run run = (Vm.major() < 12 ? vm : vm.flags("-Djava.security.manager=allow")).run(Program.class).ok();
        // The test is meaningful only if other code calls it.
        Check.atLeast(1, run.number("asked"), "questions of the program's");
        Check.equal(0, run.number("agent"), "questions on the agent's thread");
        run.profile().track("main").checkRan("dev.vouch.test.Burn.millis", MS);
        boolean told = run.profile().samples().stream().flatMap(sample -> sample.frames().stream()).anyMatch(frame -> frame.resource != null);
        Check.that(told, "it is told where classes come from");
    }

    static class Program {
        static final AtomicInteger ASKED = new AtomicInteger();
        static final AtomicInteger BY_AGENT = new AtomicInteger();

        public static void main(String[] args) throws Exception {
            System.setSecurityManager(new SecurityManager() {
                @Override
                public void checkPermission(Permission permission) {
                    ASKED.incrementAndGet();
                    if (Thread.currentThread().getName().startsWith("Vouch")) {
                        BY_AGENT.incrementAndGet();
                    }
                }
            });
            Burn.millis(MS);
            System.getProperty("user.dir");
            SecurityManagerUnused.class.getProtectionDomain();
            // The agent resolves its last classes after main has ended, and the count must include
            // that time.
            Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                try {
                    Thread.sleep(300);
                } catch (InterruptedException error) {
                    throw new AssertionError(error);
                }
                System.out.println("asked=" + ASKED);
                System.out.println("agent=" + BY_AGENT);
            }));
        }
    }
}
