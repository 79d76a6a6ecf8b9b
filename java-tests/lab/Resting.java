/*
 * One thread asks about another that is blocked on a lock, waits, is parked, sleeps or reads. In
 * the warm cases the resting method was compiled before, when its calls always returned at once.
 *
 * @test
 * @summary threads that are blocked, wait, are parked, sleep or read
 * @library /lib
 * @build dev.vouch.test.* dev.vouch.lab.* dev.vouch.Oracle
 * @run main/timeout=300 Resting
 */

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

import dev.vouch.lab.Ask;
import dev.vouch.lab.Lab;
import dev.vouch.lab.Mode;
import dev.vouch.lab.Route;
import dev.vouch.lab.Scenario;

public class Resting extends Scenario {
    private static final String[] WAYS = {"blocked", "blocked-method", "waiting", "parked", "sleeping", "reading"};
    private static final int WARM = 20_000;
    private static final int PATIENCE_MS = 10_000;

    public static void main(String[] args) throws Throwable {
        Lab.main(new Resting(), args);
    }

    @Override
    protected String[] cases() {
        List<String> cases = Route.both(WAYS);
        return cases.toArray(new String[0]);
    }

    @Override
    protected String[] flags(String name) {
        return new String[] {"-XX:+PrintCompilation", "-XX:CompileCommand=dontinline,Resting*::go",
            "-XX:CompileCommand=dontinline,Resting*::locked"};
    }

    @Override
    protected String unfit(String name, int jdk, Mode mode) {
        return name.endsWith("warm") && !mode.compiles() ? "nothing is compiled" : null;
    }

    @Override
    protected void run(String name) throws Throwable {
        Rests rests = rests(name.substring(0, name.lastIndexOf('-')));
        if (name.endsWith("warm")) {
            for (int i = 0; i < WARM; i++) {
                rests.beAwake();
                rests.go();
            }
            Ask.needs(" [14] +" + rests.getClass().getName().replace("$", "\\$") + "::go \\(\\d+ bytes\\)$");
        }
        rests.beReady();
        Thread thread = new Thread(rests);
        thread.start();
        for (int i = 0; i < PATIENCE_MS && !rests.isResting(thread); i++) {
            Thread.sleep(1);
        }
        Ask.trigger(rests.isResting(thread), "the thread does not come to rest");
        Ask.other(thread);
        rests.wake(thread);
        thread.join();
    }

    /** Creates the thread's work, and declares what must be on its stack. */
    private static Rests rests(String way) throws IOException {
        switch (way) {
            case "blocked":
                Ask.truth("Blocked.go", "Rests.run", "Thread.run");
                return new Blocked();
            case "blocked-method":
                Ask.truth("BlockedMethod.locked", "BlockedMethod.go", "Rests.run", "Thread.run");
                return new BlockedMethod();
            case "waiting":
                Ask.truth("Object.wait", "Waiting.go", "Rests.run", "Thread.run");
                return new Waiting();
            case "parked":
                Ask.truth("Unsafe.park", "LockSupport.park", "Parked.go", "Rests.run", "Thread.run");
                return new Parked();
            case "sleeping":
                Ask.truth("Thread.sleep", "Sleeping.go", "Rests.run", "Thread.run");
                return new Sleeping();
            case "reading":
                Ask.truth("Reading.go", "Rests.run", "Thread.run");
                return new Reading();
            default:
                throw new AssertionError(way);
        }
    }

    /** The thread's work: it rests once. */
    abstract static class Rests implements Runnable {
        private final Thread.State state;

        Rests(Thread.State state) {
            this.state = state;
        }

        /** Makes the calling thread's next `go` return at once. */
        abstract void beAwake();

        /** Makes the next `go` rest. */
        abstract void beReady();

        abstract void go();

        abstract void wake(Thread thread);

        boolean isResting(Thread thread) {
            return thread.getState() == state;
        }

        @Override
        public void run() {
            go();
        }
    }

    /** Holds the lock meanwhile. */
    static final class Keeper extends Thread {
        private final CountDownLatch has = new CountDownLatch(1);
        private final CountDownLatch leave = new CountDownLatch(1);
        private final Object lock;

        Keeper(Object lock) {
            this.lock = lock;
        }

        void take() {
            start();
            Ask.await(has);
        }

        void give() {
            leave.countDown();
        }

        @Override
        public void run() {
            synchronized (lock) {
                has.countDown();
                Ask.await(leave);
            }
        }
    }

    static final class Blocked extends Rests {
        private final Keeper keeper = new Keeper(this);
        private int count;

        Blocked() {
            super(Thread.State.BLOCKED);
        }

        @Override
        void beAwake() {}

        @Override
        void beReady() {
            keeper.take();
        }

        @Override
        void go() {
            synchronized (this) {
                count++;
            }
        }

        @Override
        void wake(Thread thread) {
            keeper.give();
        }
    }

    static final class BlockedMethod extends Rests {
        private final Keeper keeper = new Keeper(this);
        private int count;

        BlockedMethod() {
            super(Thread.State.BLOCKED);
        }

        @Override
        void beAwake() {}

        @Override
        void beReady() {
            keeper.take();
        }

        @Override
        void go() {
            locked();
        }

        private synchronized void locked() {
            count++;
        }

        @Override
        void wake(Thread thread) {
            keeper.give();
        }
    }

    static final class Waiting extends Rests {
        Waiting() {
            super(Thread.State.WAITING);
        }

        @Override
        void beAwake() {
            Thread.currentThread().interrupt();
        }

        @Override
        void beReady() {}

        @Override
        synchronized void go() {
            try {
                wait();
            } catch (InterruptedException meant) {
                // An interrupt ends the rest, as intended.
            }
        }

        @Override
        void wake(Thread thread) {
            thread.interrupt();
        }
    }

    static final class Parked extends Rests {
        private volatile boolean awake = true;

        Parked() {
            super(Thread.State.WAITING);
        }

        @Override
        void beAwake() {
            LockSupport.unpark(Thread.currentThread());
        }

        @Override
        void beReady() {
            awake = false;
        }

        /**
         * JDK code may already have made the thread's permit available, so one park may return at
         * once.
         */
        @Override
        void go() {
            do {
                LockSupport.park(this);
            } while (!awake);
        }

        @Override
        void wake(Thread thread) {
            awake = true;
            LockSupport.unpark(thread);
        }
    }

    static final class Sleeping extends Rests {
        private static final long LONG = 1_000_000;

        Sleeping() {
            super(Thread.State.TIMED_WAITING);
        }

        @Override
        void beAwake() {
            Thread.currentThread().interrupt();
        }

        @Override
        void beReady() {}

        @Override
        void go() {
            try {
                Thread.sleep(LONG);
            } catch (InterruptedException meant) {
                // An interrupt ends the rest, as intended.
            }
        }

        @Override
        void wake(Thread thread) {
            thread.interrupt();
        }
    }

    /** Reads from a socket, byte by byte. */
    static final class Reading extends Rests {
        private final Socket sender;
        private final InputStream received;

        Reading() throws IOException {
            super(Thread.State.RUNNABLE);
            try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
                sender = new Socket(server.getInetAddress(), server.getLocalPort());
                received = server.accept().getInputStream();
            }
        }

        @Override
        void beAwake() {
            send();
        }

        @Override
        void beReady() {}

        @Override
        void go() {
            try {
                Ask.trigger(received.read() == 1, "the socket is closed");
            } catch (IOException error) {
                throw new IllegalStateException(error);
            }
        }

        /** The thread rests once the read's native method is on top of its stack. */
        @Override
        boolean isResting(Thread thread) {
            StackTraceElement[] frames = thread.getStackTrace();
            return frames.length > 0 && frames[0].isNativeMethod() && frames[0].getMethodName().matches("poll|read0|socketRead0");
        }

        @Override
        void wake(Thread thread) {
            send();
        }

        private void send() {
            try {
                sender.getOutputStream().write(1);
            } catch (IOException error) {
                throw new IllegalStateException(error);
            }
        }
    }
}
