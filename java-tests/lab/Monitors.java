/*
 * Threads hold locks through methods and blocks, once or recursively. They get a lock at once, or
 * after another thread had it, or release it while they wait. (For threads that are still blocked
 * see Resting.)
 *
 * @test
 * @summary questions by threads that hold locks
 * @library /lib
 * @build dev.vouch.test.* dev.vouch.lab.* dev.vouch.Oracle
 * @run main/timeout=300 Monitors
 */

import java.util.List;
import java.util.concurrent.CountDownLatch;

import dev.vouch.lab.Ask;
import dev.vouch.lab.Lab;
import dev.vouch.lab.Mode;
import dev.vouch.lab.Route;
import dev.vouch.lab.Scenario;

public class Monitors extends Scenario {
    private static final String[] HELD = {"method", "static-method", "block", "recursive", "recursive-method", "hashed",
        "contended", "contended-method", "interrupted"};
    private static final int LEVELS = 4;

    public static void main(String[] args) throws Throwable {
        Lab.main(new Monitors(), args);
    }

    @Override
    protected String[] cases() {
        List<String> cases = Route.both(HELD);
        cases.add("waited-cold");
        return cases.toArray(new String[0]);
    }

    @Override
    protected String[] flags(String name) {
        return new String[] {"-XX:+PrintCompilation", "-XX:CompileCommand=dontinline,Monitors*::go",
            "-XX:CompileCommand=dontinline,Monitors$RecursiveMethod::locked"};
    }

    @Override
    protected String unfit(String name, int jdk, Mode mode) {
        return name.endsWith("warm") && !mode.compiles() ? "nothing is compiled" : null;
    }

    @Override
    protected void run(String name) throws Throwable {
        Held route = route(name.substring(0, name.lastIndexOf('-')));
        if (name.endsWith("warm")) {
            route.warm();
        } else {
            route.ready();
            route.cold();
        }
        Ask.trigger(!route.contends || Rival.seen, "nobody had to wait for the lock");
    }

    /** Creates the route, and declares what must be on the stack. */
    private static Held route(String name) {
        switch (name) {
            case "method":
                Ask.truth("Ask.here", "Method.locked", "Method.go", "Monitors.run", "Monitors.main");
                return new Method(false);
            case "contended-method":
                Ask.truth("Ask.here", "Method.locked", "Method.go", "Monitors.run", "Monitors.main");
                return new Method(true);
            case "static-method":
                Ask.truth("Ask.here", "StaticMethod.locked", "StaticMethod.go", "Monitors.run", "Monitors.main");
                return new StaticMethod();
            case "block":
                Ask.truth("Ask.here", "Block.go", "Monitors.run", "Monitors.main");
                return new Block(false);
            case "contended":
                Ask.truth("Ask.here", "Block.go", "Monitors.run", "Monitors.main");
                return new Block(true);
            case "hashed":
                Ask.truth("Ask.here", "Hashed.go", "Monitors.run", "Monitors.main");
                return new Hashed();
            case "recursive":
                Ask.truth("Ask.here", "Recursive.go", "Monitors.run", "Monitors.main");
                return new Recursive();
            case "recursive-method":
                String locked = "RecursiveMethod.locked";
                Ask.truth("Ask.here", locked, locked, locked, locked, "RecursiveMethod.go", "Monitors.run", "Monitors.main");
                return new RecursiveMethod();
            case "interrupted":
                Ask.truth("Ask.here", "Interrupted.go", "Monitors.run", "Monitors.main");
                return new Interrupted();
            case "waited":
                Ask.truth("Ask.here", "Waited.go", "Monitors.run", "Monitors.main");
                return new Waited();
            default:
                throw new AssertionError(name);
        }
    }

    abstract static class Held extends Route {
        final Object lock = new Object();
        final boolean contends;

        Held(boolean contends) {
            this.contends = contends;
        }

        /** The lock that another thread contends for. */
        Object lock() {
            return lock;
        }

        @Override
        protected final void ready() {
            if (contends) {
                Rival.take(lock());
            }
        }
    }

    /** Holds a lock until the thread that started this one blocks on it. */
    static final class Rival implements Runnable {
        static volatile boolean seen;

        private final CountDownLatch has = new CountDownLatch(1);
        private final Thread other = Thread.currentThread();
        private final Object lock;

        private Rival(Object lock) {
            this.lock = lock;
        }

        static void take(Object lock) {
            seen = false;
            Rival rival = new Rival(lock);
            new Thread(rival).start();
            Ask.await(rival.has);
        }

        @Override
        public void run() {
            synchronized (lock) {
                has.countDown();
                while (other.getState() != Thread.State.BLOCKED) {
                    Thread.yield();
                }
                seen = true;
            }
        }
    }

    static final class Method extends Held {
        Method(boolean contends) {
            super(contends);
        }

        @Override
        Object lock() {
            return this;
        }

        @Override
        protected void go() {
            locked();
        }

        private synchronized void locked() {
            Ask.here();
        }
    }

    static final class StaticMethod extends Held {
        StaticMethod() {
            super(false);
        }

        @Override
        protected void go() {
            locked();
        }

        private static synchronized void locked() {
            Ask.here();
        }
    }

    static final class Block extends Held {
        Block(boolean contends) {
            super(contends);
        }

        @Override
        protected void go() {
            synchronized (lock) {
                Ask.here();
            }
        }
    }

    /** On many JDKs the header of an object with an identity hash code cannot hold a thin lock. */
    static final class Hashed extends Held {
        Hashed() {
            super(false);
            lock.hashCode();
        }

        @Override
        protected void go() {
            synchronized (lock) {
                Ask.here();
            }
        }
    }

    static final class Recursive extends Held {
        Recursive() {
            super(false);
        }

        @Override
        protected void go() {
            synchronized (lock) {
                synchronized (lock) {
                    synchronized (this) {
                        synchronized (lock) {
                            Ask.here();
                        }
                    }
                }
            }
        }
    }

    static final class RecursiveMethod extends Held {
        RecursiveMethod() {
            super(false);
        }

        @Override
        protected void go() {
            locked(LEVELS);
        }

        private synchronized void locked(int left) {
            if (left > 1) {
                locked(left - 1);
            } else {
                Ask.here();
            }
        }
    }

    /** Asks once it has the lock again, which it released while it waited. */
    static final class Waited extends Held {
        Waited() {
            super(false);
        }

        @Override
        protected void go() throws InterruptedException {
            synchronized (lock) {
                lock.wait(1);
                Ask.here();
            }
        }
    }

    /** As Waited, but an exception ends the wait at once. */
    static final class Interrupted extends Held {
        Interrupted() {
            super(false);
        }

        @Override
        protected void go() {
            Thread.currentThread().interrupt();
            synchronized (lock) {
                try {
                    lock.wait();
                } catch (InterruptedException meant) {
                    Ask.here();
                }
            }
        }
    }
}
