/*
 * The profile must say which thread held a lock that another waited for. The lock may have had no
 * earlier contention, or much. Its owner may have exited since, or be a virtual thread. The cases
 * cover each way in which a JVM stores a lock. Thread names show the true owner.
 *
 * @test
 * @summary whom a thread waited for
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=300 MonitorOwners
 */

import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import dev.vouch.test.Asleep;
import dev.vouch.test.Check;
import dev.vouch.test.Mark;
import dev.vouch.test.Profile;
import dev.vouch.test.Vm;

public class MonitorOwners {
    private static final int LOCKS = 20;

    public static void main(String[] args) {
        held();
        if (Vm.major() >= 21 && Vm.major() <= 23) {
            held("-XX:+UnlockExperimentalVMOptions", "-XX:LockingMode=2");
        }
        if (Vm.major() >= 24) {
            held("-XX:+UnlockDiagnosticVMOptions", "-XX:+UseObjectMonitorTable");
        }
    }

    private static void held(String... flags) {
        Profile profile = Vm.with("events=monitor").flags("-Xmx128m").flags(flags).run(Program.class).ok().profile();
        Map<String, Mark> waits = new HashMap<>();
        List<Mark> marks = profile.marks("monitor_enter");
        for (Mark mark : marks) {
            if (mark.has("MonitorOwners$Program.want")) {
                Check.that(waits.put(mark.track.name, mark) == null, "a second wait of one thread: " + mark);
            }
        }
        Check.equal(Vm.major() >= 24 ? LOCKS + 1 : LOCKS, waits.size(), "threads that waited");
        for (Map.Entry<String, Mark> wait : waits.entrySet()) {
            boolean told = wait.getValue().says("owner");
            String owner = wait.getKey().equals("wants a virtual one's") ? "a virtual thread" : wait.getKey().replace("wanter", "holder");
            Check.equal(Vm.major() >= 17, told, "that it is told for whom " + wait.getKey() + " waited: " + wait.getValue().data);
            if (told) {
                Check.equal(owner, wait.getValue().text("owner"), "for whom " + wait.getKey() + " waited");
            }
        }
    }

    static class Lock {
    }

    static class Program {
        private static final Object MANY = new Lock();

        public static void main(String[] args) throws Exception {
            for (int i = 0; i < LOCKS; i++) {
                Object lock = i % 2 == 0 ? new Lock() : MANY;
                Letting let = new Letting();
                Thread holder = new Thread(() -> hold(lock, let), "holder-" + i);
                holder.start();
                waitFor(lock, let, "wanter-" + i);
                holder.join();
            }
            if (Integer.parseInt(System.getProperty("java.specification.version").replace("1.", "")) >= 24) {
                // The lock needs earlier contention. Otherwise the JVM would record its owner only
                // in that thread's lock stack.
                Object lock = MANY;
                Letting let = new Letting();
                Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
                Thread holder = (Thread) start.invoke(null, (Runnable) () -> hold(lock, let));
                waitFor(lock, let, "wants a virtual one's");
                holder.join();
            }
        }

        /** Starts a thread that waits for the lock, and returns once it has waited for a while. */
        private static void waitFor(Object lock, Letting let, String name) throws InterruptedException {
            while (!let.held) {
                Thread.sleep(1);
            }
            Thread wanter = new Thread(() -> {
                let.tid = Asleep.ownTid();
                want(lock);
            }, name);
            wanter.start();
            while (let.tid == null || wanter.getState() != Thread.State.BLOCKED) {
                Thread.sleep(1);
            }
            // The JVM reports a thread as blocked a moment before it blocks.
            Asleep.await(let.tid);
            // A collection may move the lock object, and the agent must still recognise it.
            System.gc();
            // A wait of this length is shown, however many events there are.
            Thread.sleep(50);
            let.go = true;
            wanter.join();
        }

        private static void hold(Object lock, Letting let) {
            synchronized (lock) {
                let.held = true;
                while (!let.go) {
                    try {
                        Thread.sleep(1);
                    } catch (InterruptedException unexpected) {
                        throw new AssertionError(unexpected);
                    }
                }
            }
        }

        static void want(Object lock) {
            synchronized (lock) {
                kept = lock;
            }
        }

        private static Object kept;

        private static class Letting {
            volatile String tid;
            volatile boolean held;
            volatile boolean go;
        }
    }
}
