/*
 * Compiled code hits an uncommon trap, since it was not compiled for what happens. Its frame, and
 * those inlined in it, continue in the interpreter. Questions come right after the trap, and while
 * other frames of the same code are still compiled. (For code that other threads invalidate see
 * LazyDeopt.)
 *
 * @test
 * @summary questions after uncommon traps
 * @library /lib
 * @build dev.vouch.test.* dev.vouch.lab.* dev.vouch.Oracle
 * @run main/timeout=300 Deoptimised
 */

import java.lang.management.ManagementFactory;

import dev.vouch.lab.Ask;
import dev.vouch.lab.Lab;
import dev.vouch.lab.Mode;
import dev.vouch.lab.Route;
import dev.vouch.lab.Scenario;
import dev.vouch.test.Vm;

public class Deoptimised extends Scenario {
    private static final int LEVELS = 10;

    public static void main(String[] args) throws Throwable {
        Lab.main(new Deoptimised(), args);
    }

    @Override
    protected String[] cases() {
        return new String[] {"branch", "inlined-branch", "receiver", "unlocked", "active", "active-returned", "loop"};
    }

    @Override
    protected String[] flags(String name) {
        String go = "Deoptimised*::go";
        return new String[] {"-XX:+PrintCompilation", "-XX:+UnlockDiagnosticVMOptions", "-XX:CompileCommand=dontinline," + go,
            "-XX:CompileCommand=" + (Vm.major() < 16 ? "option," + go + ",PrintInlining" : "PrintInlining," + go),
            "-XX:CompileCommand=dontinline,Deoptimised*::down"};
    }

    @Override
    protected String unfit(String name, int jdk, Mode mode) {
        if (!mode.compiles()) {
            return "nothing is compiled";
        }
        if (mode == Mode.C1) {
            return "C1 sets no such traps";
        }
        return mode == Mode.XCOMP ? "C2 compiles the first call, and without a profile sets no such traps" : null;
    }

    @Override
    protected void run(String name) throws Throwable {
        route(name).warm();
    }

    private static Route route(String name) {
        switch (name) {
            case "branch":
                Ask.truth("Ask.here", "Branch.go", "Deoptimised.run", "Deoptimised.main");
                return new Branch();
            case "inlined-branch":
                Ask.truth("Ask.here", "Inlined.c", "Inlined.b", "Inlined.a", "Inlined.go", "Deoptimised.run", "Deoptimised.main");
                return new Inlined();
            case "receiver":
                Ask.truth("Ask.here", "Receiver$Second.run", "Receiver.go", "Deoptimised.run", "Deoptimised.main");
                return new Receiver();
            case "unlocked":
                Ask.truth("Ask.here", "Unlocked.go", "Deoptimised.run", "Deoptimised.main");
                return new Unlocked();
            case "active":
                Ask.truth("Ask.here", "Active.down", "Active.down", "Active.down", "Active.go", "Deoptimised.run", "Deoptimised.main");
                return new Active();
            case "active-returned":
                Ask.truth("Ask.here", "Returned.down", "Returned.down", "Returned.go", "Deoptimised.run", "Deoptimised.main");
                return new Returned();
            case "loop":
                Ask.truth("Ask.here", "Loop.go", "Deoptimised.run", "Deoptimised.main");
                return new Loop();
            default:
                throw new AssertionError(name);
        }
    }

    /** The method's C2 code must have been discarded. */
    private static void givenUp(String method) {
        Ask.needs(" 4 +Deoptimised\\$" + method + " \\(\\d+ bytes\\) +made not entrant");
    }

    /** The trap is in a branch that was never taken before. */
    static final class Branch extends Route {
        private boolean rare;
        private int count;

        @Override
        protected void go() {
            if (rare) {
                Ask.here();
            }
            count++;
        }

        @Override
        protected void ready() {
            rare = true;
            givenUp("Branch::go");
        }
    }

    /** The trap is in a branch of the innermost inlined method. */
    static final class Inlined extends Route {
        private boolean rare;
        private int count;

        @Override
        protected void go() {
            a();
            count++;
        }

        @Override
        protected void ready() {
            rare = true;
            givenUp("Inlined::go");
        }

        private void a() {
            b();
            count++;
        }

        private void b() {
            c();
            count++;
        }

        private void c() {
            if (rare) {
                Ask.here();
            }
        }
    }

    /** The trap is a new receiver class. A single such trap does not discard the code yet. */
    static final class Receiver extends Route {
        private final Runnable second = new Second();
        private Runnable next = new First();

        @Override
        protected void go() {
            next.run();
        }

        @Override
        protected void ready() {
            next = second;
            Ask.needs("Deoptimised\\$Receiver\\$First::run \\(\\d+ bytes\\) +inline \\(hot\\)");
        }

        static final class First implements Runnable {
            private int count;

            @Override
            public void run() {
                count++;
            }
        }

        static final class Second implements Runnable {
            @Override
            public void run() {
                Ask.here();
            }
        }
    }

    /** C2 eliminated the object and its lock; the trap must recreate both. */
    static final class Unlocked extends Route {
        private static final int CALLS = 1000;
        private boolean rare;
        private int sum;

        @Override
        protected void go() {
            Counter counter = new Counter(sum);
            synchronized (counter) {
                if (rare) {
                    Ask.here();
                }
                sum = counter.next();
            }
        }

        @Override
        protected void ready() {
            com.sun.management.ThreadMXBean threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
            long id = Thread.currentThread().getId();
            threads.getThreadAllocatedBytes(id);
            long before = threads.getThreadAllocatedBytes(id);
            for (int i = 0; i < CALLS; i++) {
                go();
            }
            Ask.trigger(threads.getThreadAllocatedBytes(id) - before < CALLS, "the objects are allocated");
            rare = true;
            givenUp("Unlocked::go");
        }
    }

    static final class Counter {
        private final int count;

        Counter(int count) {
            this.count = count;
        }

        synchronized int next() {
            return count + 1;
        }
    }

    /** The innermost call hits the trap; the outer frames stay in the discarded code. */
    static final class Active extends Route {
        private boolean rare;
        private int count;

        @Override
        protected void go() {
            down(LEVELS);
        }

        @Override
        protected void ready() {
            rare = true;
            givenUp("Active::down");
        }

        private void down(int left) {
            if (left > 1) {
                down(left - 1);
            } else if (rare) {
                Ask.here();
            }
            count++;
        }
    }

    /** As Active, but an outer frame asks after the innermost call has returned. */
    static final class Returned extends Route {
        private boolean rare;
        private int count;

        @Override
        protected void go() {
            down(LEVELS);
        }

        @Override
        protected void ready() {
            rare = true;
            givenUp("Returned::down");
        }

        private void down(int left) {
            if (left > 1) {
                down(left - 1);
            } else if (rare) {
                count--;
            }
            count++;
            if (left == LEVELS - 1) {
                Ask.here();
            }
        }
    }

    /** The trap is in a loop, which continues in the interpreter. */
    static final class Loop extends Route {
        private static final int ROUNDS = 20;
        private int rare = -1;
        private int count;

        @Override
        protected void go() {
            for (int i = 0; i < ROUNDS; i++) {
                if (i == rare) {
                    Ask.here();
                }
                count += i;
            }
        }

        @Override
        protected void ready() {
            rare = ROUNDS / 2;
            givenUp("Loop::go");
        }
    }
}
