/*
 * Callers are deoptimised lazily. They were compiled on the assumption that a method has one
 * implementation, and wait in it while another is loaded. Their code is made not entrant, but their
 * frames stay in it.
 *
 * @test
 * @summary a class load invalidates the code of compiled callers that are on the stack
 * @library /lib
 * @build dev.vouch.test.* dev.vouch.lab.* dev.vouch.Oracle
 * @run main/timeout=300 LazyDeopt
 */

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;

import dev.vouch.lab.Ask;
import dev.vouch.lab.Lab;
import dev.vouch.lab.Mode;
import dev.vouch.lab.Scenario;
import dev.vouch.lab.Warm;

public class LazyDeopt extends Scenario {
    private static final int COMPILED_BY_THEN = 5_000_000;

    private final Inner inner = new Inner();
    private final Middle middle = new Middle();
    private final Outer outer = new Outer();
    private final Abstract concrete = new Concrete();
    private final Runnable nothing = Warm.anything(0);

    public static void main(String[] args) throws Throwable {
        Lab.main(new LazyDeopt(), args);
    }

    @Override
    protected String[] cases() {
        return new String[] {"before-load", "one", "several", "inlined", "abstract", "recursive", "returned", "returned-partly",
            "other-thread", "spinning-thread"};
    }

    @Override
    protected String unfit(String name, int jdk, Mode mode) {
        if (!mode.compiles()) {
            return "nothing is compiled";
        }
        return name.equals("abstract") && mode == Mode.C1 ? "C1 assumes nothing of an abstract method" : null;
    }

    /**
     * Each case has its own JVM, since an assumption fails only once. Callers that are not inlined
     * have their own compiled frames.
     */
    @Override
    protected String[] flags(String name) {
        List<String> flags = new ArrayList<>(Arrays.asList("-XX:+PrintCompilation", "-Dlab.case=" + name));
        String[] apart = name.equals("inlined") ? new String[] {"outer"} : new String[] {"inner", "middle", "outer", "only", "again"};
        for (String method : apart) {
            flags.add("-XX:CompileCommand=dontinline,LazyDeopt::" + method);
        }
        return flags.toArray(new String[0]);
    }

    @Override
    protected void run(String name) throws Throwable {
        warm();
        switch (name) {
            case "before-load":
                invalidated("inner", "middle", "outer");
                truth("AskThenLoad");
                outer(outer, middle, inner, new AskThenLoad(), nothing);
                break;
            case "one":
                invalidated("inner");
                truth("LoadOneThenAsk");
                outer(outer, middle, inner, new LoadOneThenAsk(), nothing);
                break;
            case "several":
                invalidated("inner", "middle", "outer");
                truth("LoadThenAsk");
                outer(outer, middle, inner, new LoadThenAsk(), nothing);
                break;
            case "inlined":
                invalidated("outer");
                truth("LoadThenAsk");
                outer(outer, middle, inner, new LoadThenAsk(), nothing);
                break;
            case "abstract":
                invalidated("only");
                Ask.truth("Ask.here", "LoadConcreteThenAsk.run", "Concrete.pass", "LazyDeopt.only", "LazyDeopt.run", "LazyDeopt.main");
                only(concrete, new LoadConcreteThenAsk());
                break;
            case "recursive":
                invalidated("again");
                Ask.truth("Ask.here", "LoadOneThenAsk.run", "Inner.down", "LazyDeopt.again", "Inner.down",
                    "LazyDeopt.again", "Inner.down", "LazyDeopt.again", "LazyDeopt.run", "LazyDeopt.main");
                again(inner, 10, new LoadOneThenAsk());
                break;
            case "returned":
                invalidated("inner");
                returnedTruth();
                outer(outer, middle, inner, new LoadOne(), new Asker());
                break;
            case "returned-partly":
                invalidated("inner", "middle", "outer");
                returnedTruth();
                outer(outer, middle, inner, new Load(), new Asker());
                break;
            case "other-thread":
                invalidated("inner", "middle", "outer");
                other(new Waits());
                break;
            case "spinning-thread":
                invalidated("inner", "middle", "outer");
                other(new Spins());
                break;
            default:
                throw new AssertionError(name);
        }
    }

    /** The code of each of these methods must have been made not entrant. */
    private static void invalidated(String... methods) {
        for (String method : methods) {
            Ask.needs(" [14] +LazyDeopt::" + method + " \\(\\d+ bytes\\) +made not entrant");
        }
    }

    private static void truth(String asker) {
        Ask.truth("Ask.here", asker + ".run", "Inner.pass", "LazyDeopt.inner", "Middle.pass", "LazyDeopt.middle",
            "Outer.pass", "LazyDeopt.outer", "LazyDeopt.run", "LazyDeopt.main");
    }

    private static void returnedTruth() {
        Ask.truth("Ask.here", "Asker.run", "LazyDeopt.inner", "Middle.pass", "LazyDeopt.middle", "Outer.pass",
            "LazyDeopt.outer", "LazyDeopt.run", "LazyDeopt.main");
    }

    private void other(Stays stays) throws InterruptedException {
        Ask.truth(stays.getClass().getSimpleName() + ".run", "Inner.pass", "LazyDeopt.inner", "Middle.pass",
            "LazyDeopt.middle", "Outer.pass", "LazyDeopt.outer", "Goes.run", "Thread.run");
        Thread thread = new Thread(new Goes(this, stays));
        thread.start();
        Ask.await(stays.there);
        while (thread.getState() != Thread.State.WAITING && stays.turns < COMPILED_BY_THEN) {
            Thread.sleep(1);
        }
        new Load().run();
        Ask.other(thread);
        stays.done = true;
        stays.leave.countDown();
        thread.join();
    }

    private void warm() {
        for (int i = 0; i < Warm.TIMES; i++) {
            Runnable any = Warm.anything(i);
            outer(outer, middle, inner, any, any);
            only(concrete, any);
            again(inner, 10, any);
        }
    }

    /** Objects are passed on as Object, since a declared type would already be an assumption. */
    static void outer(Object to, Object middle, Object inner, Runnable during, Runnable after) {
        ((Outer) to).pass(middle, inner, during, after);
    }

    static void middle(Object to, Object inner, Runnable during, Runnable after) {
        ((Middle) to).pass(inner, during, after);
    }

    static void inner(Object to, Runnable during, Runnable after) {
        ((Inner) to).pass(during);
        after.run();
    }

    static void only(Abstract to, Runnable during) {
        to.pass(during);
    }

    static void again(Inner to, int left, Runnable during) {
        to.down(left, during);
    }

    /**
     * The callers are compiled on the assumption that no subclass overrides these three classes'
     * methods.
     */
    static class Outer {
        void pass(Object middle, Object inner, Runnable during, Runnable after) {
            middle(middle, inner, during, after);
        }
    }

    static class Middle {
        void pass(Object inner, Runnable during, Runnable after) {
            inner(inner, during, after);
        }
    }

    static class Inner {
        void pass(Runnable during) {
            during.run();
        }

        void down(int left, Runnable during) {
            if (left == 0) {
                during.run();
            } else {
                again(this, left - 1, during);
            }
        }
    }

    /** The callers are compiled on the assumption that this class has a single subclass. */
    abstract static class Abstract {
        abstract void pass(Runnable during);
    }

    static final class Concrete extends Abstract {
        @Override
        void pass(Runnable during) {
            during.run();
        }
    }

    static final class SecondOuter extends Outer {
        @Override
        void pass(Object middle, Object inner, Runnable during, Runnable after) {}
    }

    static final class SecondMiddle extends Middle {
        @Override
        void pass(Object inner, Runnable during, Runnable after) {}
    }

    static final class SecondInner extends Inner {
        @Override
        void pass(Runnable during) {}

        @Override
        void down(int left, Runnable during) {}
    }

    static final class SecondConcrete extends Abstract {
        @Override
        void pass(Runnable during) {}
    }

    static class LoadOne implements Runnable {
        @Override
        public void run() {
            new SecondInner();
        }
    }

    static class Load implements Runnable {
        @Override
        public void run() {
            new SecondInner();
            new SecondMiddle();
            new SecondOuter();
        }
    }

    static final class LoadOneThenAsk implements Runnable {
        @Override
        public void run() {
            new SecondInner();
            Ask.here();
        }
    }

    static final class LoadThenAsk implements Runnable {
        @Override
        public void run() {
            new Load().run();
            Ask.here();
        }
    }

    static final class AskThenLoad implements Runnable {
        @Override
        public void run() {
            Ask.here();
            new Load().run();
        }
    }

    static final class LoadConcreteThenAsk implements Runnable {
        @Override
        public void run() {
            new SecondConcrete();
            Ask.here();
        }
    }

    static final class Asker implements Runnable {
        @Override
        public void run() {
            Ask.here();
        }
    }

    /** The run method of another thread. */
    static final class Goes implements Runnable {
        private final LazyDeopt all;
        private final Runnable during;

        Goes(LazyDeopt all, Runnable during) {
            this.all = all;
            this.during = during;
        }

        @Override
        public void run() {
            outer(all.outer, all.middle, all.inner, during, all.nothing);
        }
    }

    /** Stays in its method until it is released. */
    abstract static class Stays implements Runnable {
        final CountDownLatch there = new CountDownLatch(1);
        final CountDownLatch leave = new CountDownLatch(1);
        volatile boolean done;
        volatile long turns;
    }

    static final class Waits extends Stays {
        @Override
        public void run() {
            there.countDown();
            Ask.await(leave);
        }
    }

    static final class Spins extends Stays {
        @Override
        public void run() {
            there.countDown();
            while (!done) {
                turns++;
            }
        }
    }
}
