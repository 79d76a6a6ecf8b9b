/*
 * The JVM itself calls Java now and then: it makes an exception for native code of its own, tells who wants to know of a collection, calls an agent
 * that is loaded into a program that runs. Nobody's bytecode has these calls, and yet they are no mistake of a walk.
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
import java.util.concurrent.atomic.AtomicInteger;

import javax.management.NotificationEmitter;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.JavaAgent;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Vm;

public class CalledByVm {
    private static final int TIMES = 20;
    private static final int MS = 20;
    private static final int AGENT_MS = 100;

    public static void main(String[] args) {
        Run clones = Vm.with("interval=200us").run(Clones.class).ok();
        Check.atLeast(20L, samples(clones, "java.lang.CloneNotSupportedException.<init>"), "samples in what the VM throws for a clone");
        notWrong(clones);

        Run told = Vm.with("interval=1ms").run(Listener.class).ok();
        // Before JDK 14 it is a thread that the VM hides from everybody: outside of Java as far as anybody knows.
        if (Vm.major() >= 14) {
            Check.atLeast(TIMES / 2L, samples(told, "CalledByVm$Listener.listens"), "samples of who was told of collections");
        }
        notWrong(told);

        // JDK 8's jcmd loads no agents.
        if (Vm.major() >= 9) {
            loaded();
        }
    }

    private static void loaded() {
        String jar = JavaAgent.jar(Agent.class).toString();
        try (Running child = Vm.with("interval=1ms").start(Waits.class)) {
            child.awaitOut("ready");
            Check.equal(0, child.jcmd("JVMTI.agent_load", jar).exit, "exit code of jcmd");
            child.awaitOut("agent was here");
            child.stdin().println();
            Run run = child.waitFor().ok();
            Check.atLeast(AGENT_MS / 2.0, samples(run, "CalledByVm$Agent.works"), "samples of the agent");
            notWrong(run);
        }
    }

    private static long samples(Run run, String function) {
        return run.profile().tracks.stream().flatMap(track -> track.samples.stream()).filter(sample -> sample.has(function)).count();
    }

    private static void notWrong(Run run) {
        for (String kind : new String[] {"wrong_root", "other_callee"}) {
            Check.equal(0L, run.report().refuted(kind), "samples that are refuted as " + kind);
        }
    }

    /** An object that will not be copied: native code throws. */
    static class Clones {
        static int refused;

        public static void main(String[] args) {
            Burn.millis(1);
            long end = System.nanoTime() + 600_000_000L;
            while (System.nanoTime() < end) {
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

    /** What is loaded later; it does not touch what it would have to wait for. */
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

    /** Who listens to collections is called by a thread of the VM's, on which nothing else is. */
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
