/*
 * A virtual thread may begin a wait on one carrier and end it on another. So the agent must omit
 * its waits, and must never mix them with another thread's. The waits of platform threads keep
 * their true lengths.
 *
 * @test
 * @summary waits of virtual threads are omitted, and those of platform threads have their lengths
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=200 VirtualThreadEvents
 */

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;

import dev.vouch.test.Check;
import dev.vouch.test.Mark;
import dev.vouch.test.Run;
import dev.vouch.test.Skip;
import dev.vouch.test.Vm;

public class VirtualThreadEvents {
    private static final int WAITS = 20;

    public static void main(String[] args) {
        Skip.unless(Vm.major() >= 21, "virtual threads are newer than JDK " + Vm.major());
        Run run = Vm.with("events=monitor+wait").flags("-Xmx128m").run(Program.class).ok();
        Check.atLeast(100, run.number("virtual.waits"), "waits of virtual threads");
        List<Mark> platform = new ArrayList<>();
        for (String kind : new String[] {"monitor_enter", "monitor_wait"}) {
            for (Mark mark : run.profile().marks(kind)) {
                Check.that(!mark.has("VirtualThreadEvents$Program.virtual"), "a virtual thread's: " + mark);
                if (mark.has("VirtualThreadEvents$Program.platform")) {
                    platform.add(mark);
                }
            }
        }
        Check.equal(WAITS, platform.size(), "waits of the platform thread");
        for (Mark mark : platform) {
            Check.between(9, mark.ms(), run.number("longest") / 1e6 + 0.002, "length of " + mark);
        }
    }

    static class Program {
        private static final Object LOCK = new Object();
        private static int waits;

        public static void main(String[] args) throws Exception {
            Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < 50; i++) {
                threads.add((Thread) start.invoke(null, (Runnable) Program::virtual));
            }
            long longest = platform();
            for (Thread thread : threads) {
                thread.join();
            }
            System.out.println("virtual.waits=" + waits);
            System.out.println("longest=" + longest);
        }

        static void virtual() {
            for (int i = 0; i < 5; i++) {
                synchronized (LOCK) {
                    waits++;
                    try {
                        LOCK.wait(2);
                        Thread.sleep(1);
                    } catch (InterruptedException nobodyDoes) {
                        throw new IllegalStateException(nobodyDoes);
                    }
                }
            }
        }

        /** Waits on its own lock meanwhile, and returns the longest wait. */
        static long platform() throws InterruptedException {
            Object own = new Object();
            long longest = 0;
            for (int i = 0; i < WAITS; i++) {
                long begin = System.nanoTime();
                synchronized (own) {
                    own.wait(10);
                }
                longest = Math.max(longest, System.nanoTime() - begin);
            }
            return longest;
        }
    }
}
