/*
 * The JVM itself calls Java: it creates exceptions for its own native code, notifies listeners of
 * collections, and starts agents that are loaded into a running program. No bytecode has these
 * calls, and yet they are not mistakes of a walk.
 *
 * @test
 * @summary what the JVM calls by itself is not taken for a wrong stack
 * @library /lib
 * @build dev.vouch.test.*
 * @run main CalledByVm
 */

import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;

import javax.management.NotificationEmitter;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.FixedWork;
import dev.vouch.test.JavaAgent;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Sample;
import dev.vouch.test.Track;
import dev.vouch.test.Vm;

public class CalledByVm {
    private static final int TIMES = 20;
    private static final int MS = 10;
    private static final int CLONES_MS = 400;
    private static final int AGENT_MS = 100;

    public static void main(String[] args) {
        clones();
        Run told = Vm.with("interval=500us").run(Listener.class).ok();
        // Before JDK 14 the VM hides this thread from JVMTI, so it counts as outside of Java.
        if (Vm.major() >= 14) {
            served(told, "Notification Thread", "CalledByVm$Listener.listens", TIMES / 2);
        }
        // JDK 8's jcmd loads no agents.
        if (Vm.major() >= 9) {
            loaded();
        }
    }

    private static void clones() {
        Run run = Vm.with("interval=200us").run(Clones.class).ok();
        List<Sample> thrown = with(run.profile().track("main"), "java.lang.CloneNotSupportedException.<init>");
        Check.atLeast(20, thrown.size(), "samples in what the VM throws for a clone");
        // A walk may end too early while code is deoptimised; such a stack is refuted rightly.
        Check.atMost(0.05 * thrown.size(), thrown.stream().filter(sample -> isRefuted(sample, "")).count(), "of them, refuted");
    }

    private static void loaded() {
        String jar = JavaAgent.jar(Agent.class).toString();
        try (Running child = Vm.with("interval=1ms").start(Waits.class)) {
            child.awaitOut("ready");
            Check.equal(0, child.jcmd("JVMTI.agent_load", jar).exit, "exit code of jcmd");
            child.awaitOut("agent was here");
            child.stdin().println();
            served(child.waitFor().ok(), "Attach Listener", "CalledByVm$Agent.works", AGENT_MS / 2);
        }
    }

    /** Checks that any root of this thread's stacks is accepted. */
    private static void served(Run run, String thread, String function, int least) {
        Track track = run.profile().track(thread);
        Check.atLeast(least, with(track, function).size(), "samples in " + function);
        Check.equal(0, track.samples.stream().filter(sample -> isRefuted(sample, "wrong_root")).count(), "samples of " + thread + " with a wrong root");
    }

    private static List<Sample> with(Track track, String function) {
        return track.samples.stream().filter(sample -> sample.has(function)).collect(Collectors.toList());
    }

    private static boolean isRefuted(Sample sample, String kind) {
        return sample.root().function.startsWith("[refuted: " + kind);
    }

    /** Fails to clone an object, so that native code throws an exception. */
    static class Clones {
        static int refused;

        public static void main(String[] args) {
            // Runs by its CPU clock, so it has its samples on a busy machine, too.
            FixedWork fixedWork = new FixedWork(CLONES_MS);
            while (fixedWork.isOn()) {
                deep(50);
            }
            System.out.println(refused);
        }

        private static void deep(int more) {
            if (more > 0) {
                deep(more - 1);
                return;
            }
            try {
                new Clones().copy();
            } catch (CloneNotSupportedException expected) {
                refused++;
            }
        }

        private Object copy() throws CloneNotSupportedException {
            return super.clone();
        }
    }

    /** The agent that is loaded later. It touches nothing that it would have to wait for. */
    public static class Agent {
        public static void agentmain(String args, Instrumentation jvm) {
            works();
            System.out.println("agent was here");
        }

        private static void works() {
            Burn.millis(AGENT_MS);
        }
    }

    static class Waits {
        public static void main(String[] args) throws IOException {
            System.out.println("ready");
            System.in.read();
        }
    }

    /** Listens for collections. A thread of the VM calls it, and nothing else runs there. */
    static class Listener {
        private static final AtomicInteger TOLD = new AtomicInteger();

        public static void main(String[] args) throws InterruptedException {
            for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
                ((NotificationEmitter) bean).addNotificationListener((notification, handback) -> listens(), null, null);
            }
            for (int times = 1; times <= TIMES; times++) {
                System.gc();
                while (TOLD.get() < times) {
                    Thread.sleep(1);
                }
            }
        }

        private static void listens() {
            Burn.millis(MS);
            TOLD.incrementAndGet();
        }
    }
}
