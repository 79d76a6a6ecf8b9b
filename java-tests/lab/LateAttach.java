/*
 * The agent is loaded into a JVM that has long been running. Stacks, threads, classes and compiled
 * code are older than the agent.
 *
 * Each case has its own JVM, since an agent is attached only once.
 *
 * @test
 * @summary stacks that are older than the agent
 * @library /lib
 * @build dev.vouch.test.* dev.vouch.lab.* dev.vouch.Oracle
 * @run main/timeout=300 LateAttach
 */

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;

import dev.vouch.lab.Ask;
import dev.vouch.lab.Lab;
import dev.vouch.lab.Mode;
import dev.vouch.lab.Scenario;
import dev.vouch.lab.Warm;
import dev.vouch.test.Vm;

public class LateAttach extends Scenario {
    private static final int COMPILED_BY_THEN = 5_000_000;

    public static void main(String[] args) throws Throwable {
        Lab.main(new LateAttach(), args);
    }

    @Override
    protected String[] cases() {
        return new String[] {"old-frames", "old-compiled-frames", "old-code", "old-class", "old-thread", "old-waiting-thread",
            "old-spinning-thread", "new-thread"};
    }

    @Override
    protected String unfit(String name, int jdk, Mode mode) {
        boolean compiled = name.equals("old-compiled-frames") || name.equals("old-code");
        return compiled && !mode.compiles() ? "nothing is compiled" : null;
    }

    @Override
    protected String agentOptions(String name) {
        return null;
    }

    @Override
    protected String[] flags(String name) {
        List<String> flags = new ArrayList<>(Arrays.asList("-Dlab.case=" + name, "-XX:+PrintCompilation",
            "-XX:CompileCommand=dontinline,LateAttach::outer", "-XX:CompileCommand=dontinline,LateAttach::inner"));
        if (Vm.major() >= 21) {
            flags.add("-XX:+EnableDynamicAgentLoading");
        }
        return flags.toArray(new String[0]);
    }

    @Override
    protected void run(String name) throws Throwable {
        switch (name) {
            case "old-frames":
                truth("AttachThenAsk.run");
                outer(new AttachThenAsk());
                break;
            case "old-compiled-frames":
                warm();
                truth("AttachThenAsk.run");
                outer(new AttachThenAsk());
                break;
            case "old-code":
                warm();
                attach();
                truth("Asker.run");
                outer(new Asker());
                break;
            case "old-class":
                Ask.truth("Ask.here", "Old.ask", "LateAttach.run", "LateAttach.main");
                Old old = new Old();
                attach();
                old.ask();
                break;
            case "old-thread":
                Ask.truth("Ask.here", "Asker.run", "WaitsThen.run", "LateAttach.inner", "LateAttach.outer", "Goes.run", "Thread.run");
                WaitsThen asks = new WaitsThen(new Asker());
                Thread asking = started(asks);
                attach();
                asks.leave.countDown();
                asking.join();
                break;
            case "old-waiting-thread":
                Ask.truth("WaitsThen.run", "LateAttach.inner", "LateAttach.outer", "Goes.run", "Thread.run");
                WaitsThen waits = new WaitsThen(Warm.anything(0));
                Thread waiting = started(waits);
                while (waiting.getState() != Thread.State.WAITING) {
                    Thread.sleep(1);
                }
                attach();
                Ask.other(waiting);
                waits.leave.countDown();
                waiting.join();
                break;
            case "old-spinning-thread":
                Ask.truth("Spins.run", "LateAttach.inner", "LateAttach.outer", "Goes.run", "Thread.run");
                Spins spins = new Spins();
                Thread spinning = new Thread(new Goes(spins));
                spinning.start();
                while (spins.turns < COMPILED_BY_THEN) {
                    Thread.sleep(1);
                }
                attach();
                Ask.other(spinning);
                spins.done = true;
                spinning.join();
                break;
            case "new-thread":
                Ask.truth("Ask.here", "Asker.run", "LateAttach.inner", "LateAttach.outer", "Goes.run", "Thread.run");
                attach();
                Thread fresh = new Thread(new Goes(new Asker()));
                fresh.start();
                fresh.join();
                break;
            default:
                throw new AssertionError(name);
        }
    }

    private static void truth(String asker) {
        Ask.truth("Ask.here", asker, "LateAttach.inner", "LateAttach.outer", "LateAttach.run", "LateAttach.main");
    }

    static void attach() {
        try {
            Ask.attach("lab");
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private static Thread started(WaitsThen first) {
        Thread thread = new Thread(new Goes(first));
        thread.start();
        Ask.await(first.there);
        return thread;
    }

    /** Makes the JVM compile the callers before the agent comes. */
    private static void warm() {
        for (int i = 0; i < Warm.TIMES; i++) {
            outer(Warm.anything(i));
        }
        Ask.needs(" [14] +LateAttach::outer ");
    }

    static void outer(Runnable then) {
        inner(then);
    }

    static void inner(Runnable then) {
        then.run();
    }

    static final class Old {
        void ask() {
            Ask.here();
        }
    }

    static final class AttachThenAsk implements Runnable {
        @Override
        public void run() {
            attach();
            Ask.here();
        }
    }

    static final class Asker implements Runnable {
        @Override
        public void run() {
            Ask.here();
        }
    }

    /** The run method of a new thread. */
    static final class Goes implements Runnable {
        private final Runnable then;

        Goes(Runnable then) {
            this.then = then;
        }

        @Override
        public void run() {
            outer(then);
        }
    }

    static final class WaitsThen implements Runnable {
        final CountDownLatch there = new CountDownLatch(1);
        final CountDownLatch leave = new CountDownLatch(1);
        private final Runnable then;

        WaitsThen(Runnable then) {
            this.then = then;
        }

        @Override
        public void run() {
            there.countDown();
            Ask.await(leave);
            then.run();
        }
    }

    static final class Spins implements Runnable {
        volatile boolean done;
        volatile long turns;

        @Override
        public void run() {
            while (!done) {
                turns++;
            }
        }
    }
}
