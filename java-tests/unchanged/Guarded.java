/*
 * A program that has a SecurityManager of its own (until JDK 23) decides what any code may ask. The
 * agent must not ask it: it might refuse, wait, or count. The profile says all the same where
 * classes come from.
 *
 * @test
 * @summary a SecurityManager of the program's is not asked by the agent
 * @requires jdk.version.major < 24
 * @library /lib
 * @build dev.vouch.test.*
 * @run main Guarded
 */

import java.security.Permission;
import java.util.concurrent.atomic.AtomicInteger;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Vm;

public class Guarded {
    private static final long MS = 400;

    public static void main(String[] args) {
        Vm vm = Vm.with("interval=1ms");
        Run run = (Vm.major() < 12 ? vm : vm.flags("-Djava.security.manager=allow")).run(Program.class).ok();
        // The trigger: it is asked by others.
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
            Guarded.class.getProtectionDomain();
            // What the agent resolves last it resolves when the program has ended, and the one who
            // counts is asked then, too.
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
