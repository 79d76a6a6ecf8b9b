/*
 * Virtual threads before they first leave their carrier, and after they have come back. Then only
 * their youngest frames are on the carrier's stack. There is a single carrier, so if one thread
 * sees another's progress, that other one was unmounted.
 *
 * @test
 * @summary virtual threads that never parked, parked, yielded, blocked, were pinned
 * @requires jdk.version.major >= 21
 * @library /lib
 * @build dev.vouch.test.* dev.vouch.lab.* dev.vouch.Oracle
 * @run main/timeout=300 VirtualThreads
 */

import java.lang.reflect.Method;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

import dev.vouch.lab.Ask;
import dev.vouch.lab.Lab;
import dev.vouch.lab.Mode;
import dev.vouch.lab.Scenario;
import dev.vouch.lab.Warm;
import dev.vouch.test.CCompiler;

public class VirtualThreads extends Scenario {
    private static final int LEVELS = 500;
    private static final int BACK = 10;
    private static final Runnable ASK = new Asker();

    private static Path library;

    public static void main(String[] args) throws Throwable {
        Lab.main(new VirtualThreads(), args);
    }

    @Override
    protected String[] cases() {
        return new String[] {"never-parked", "parked", "parked-twice", "returned", "deep-never-parked", "deep-parked",
            "deep-partly-returned", "slept", "yielded", "locked", "monitor", "waited", "pinned-by-monitor", "pinned-by-native",
            "executor", "executor-after-sleep", "structured", "compiled", "compiled-parked", "carrier-pinned", "carrier-idle",
            "platform-beside"};
    }

    @Override
    protected String unfit(String name, int jdk, Mode mode) {
        return name.startsWith("compiled") && !mode.compiles() ? "nothing is compiled" : null;
    }

    /**
     * The executor's case depends on the classes loaded before and on the loading thread, so it has
     * its own JVM.
     */
    @Override
    protected String[] flags(String name) {
        if (library == null) {
            library = CCompiler.library("VirtualThreads");
        }
        List<String> flags = new ArrayList<>(Arrays.asList("-Djdk.virtualThreadScheduler.parallelism=1",
            "-Djdk.virtualThreadScheduler.maxPoolSize=1", "--add-opens=java.base/java.lang=ALL-UNNAMED",
            "--enable-native-access=ALL-UNNAMED", "-Dlab.library=" + library));
        if (name.startsWith("compiled")) {
            flags.add("-XX:+PrintCompilation");
        } else if (name.equals("structured")) {
            flags.add("--enable-preview");
        } else if (name.startsWith("executor")) {
            flags.add("-Dlab.case=" + name);
        }
        return flags.toArray(new String[0]);
    }

    @Override
    protected void run(String name) throws Throwable {
        if (name.startsWith("compiled")) {
            warm();
        }
        switch (name) {
            case "never-parked":
            case "compiled":
                truth("Asker.run");
                virtual(ASK).join();
                break;
            case "parked":
            case "compiled-parked":
                truth("Parks.run");
                Parks parks = new Parks(1);
                parks.wake(virtual(parks));
                break;
            case "parked-twice":
                truth("Parks.run");
                Parks twice = new Parks(2);
                twice.wake(virtual(twice));
                break;
            case "returned":
                Ask.truth("Ask.here", "Goes.run", "VirtualThread.run");
                Parks returns = new Parks(1);
                returns.silent = true;
                returns.wake(Thread.ofVirtual().start(new Goes(returns, true)));
                break;
            case "deep-never-parked":
                deepTruth("Asker.run", LEVELS + 1);
                virtual(new Deep(ASK, false)).join();
                break;
            case "deep-parked":
                deepTruth("Parks.run", LEVELS + 1);
                Parks deep = new Parks(1);
                deep.wake(virtual(new Deep(deep, false)));
                break;
            case "deep-partly-returned":
                deepTruth("Asker.run", LEVELS - BACK + 1);
                Parks bottom = new Parks(1);
                bottom.silent = true;
                bottom.wake(virtual(new Deep(bottom, true)));
                break;
            case "slept":
                truth("Sleeps.run");
                virtual(new Sleeps(true)).join();
                break;
            case "yielded":
                truth("Yields.run");
                virtual(new Yields()).join();
                break;
            case "locked":
                truth("Locks.run");
                Locks locks = new Locks();
                locks.lock.lock();
                Thread locking = virtual(locks);
                awaitState(locking, Thread.State.WAITING);
                locks.lock.unlock();
                locking.join();
                break;
            case "monitor":
                truth("Enters.run");
                Enters enters = new Enters();
                Thread entering;
                synchronized (enters) {
                    entering = virtual(enters);
                    awaitState(entering, Thread.State.BLOCKED);
                }
                entering.join();
                break;
            case "waited":
                truth("Waits.run");
                Waits waits = new Waits();
                Thread waiting = virtual(waits);
                awaitState(waiting, Thread.State.WAITING);
                waits.tell();
                waiting.join();
                break;
            case "pinned-by-monitor":
                truth("Parks.run", "Synchronized.run");
                Parks held = new Parks(1);
                held.wake(virtual(new Synchronized(held)));
                break;
            case "pinned-by-native":
                truth("Parks.run", "VirtualThreads.call", "CallsNative.run");
                System.load(System.getProperty("lab.library"));
                Parks pinned = new Parks(1);
                pinned.wake(virtual(new CallsNative(pinned)));
                break;
            case "executor-after-sleep":
                virtual(new Sleeps(false)).join();
                executor();
                break;
            case "executor":
                executor();
                break;
            case "structured":
                Ask.truth("Ask.here", "Calls.call", "VirtualThread.run");
                structured();
                break;
            case "carrier-pinned":
                Ask.truth("ForkJoinWorkerThread.run");
                System.load(System.getProperty("lab.library"));
                Parks below = new Parks(1);
                below.silent = true;
                Thread mounted = virtual(new CallsNative(below));
                awaitState(mounted, Thread.State.WAITING);
                Ask.other(below.carrier);
                below.wake(mounted);
                break;
            case "carrier-idle":
                Ask.truth("ForkJoinWorkerThread.run");
                Parks gone = new Parks(1);
                gone.silent = true;
                Thread left = virtual(gone);
                awaitState(left, Thread.State.WAITING);
                awaitIdle(gone.carrier);
                Ask.other(gone.carrier);
                gone.wake(left);
                break;
            case "platform-beside":
                Ask.truth("Thread.join", "VirtualThreads.run", "VirtualThreads.main");
                virtual(new AsksOther(Thread.currentThread())).join();
                break;
            default:
                throw new AssertionError(name);
        }
    }

    /** Starts a virtual thread that runs this step below a few frames. */
    private static Thread virtual(Runnable step) {
        return Thread.ofVirtual().start(new Goes(step, false));
    }

    private static void truth(String... leaves) {
        List<String> stack = new ArrayList<>(Arrays.asList(leaves));
        stack.add(0, "Ask.here");
        stack.addAll(Arrays.asList("VirtualThreads.inner", "VirtualThreads.outer", "Goes.run", "VirtualThread.run"));
        Ask.truth(stack.toArray(new String[0]));
    }

    private static void deepTruth(String leaf, int levels) {
        List<String> stack = new ArrayList<>(Collections.nCopies(levels, "Deep.down"));
        stack.add(0, leaf);
        stack.add("Deep.run");
        truth(stack.toArray(new String[0]));
    }

    static void awaitState(Thread thread, Thread.State state) throws InterruptedException {
        while (thread.getState() != state) {
            Thread.sleep(1);
        }
    }

    private static void awaitIdle(Thread carrier) throws InterruptedException {
        while (carrier.getState() != Thread.State.WAITING && carrier.getState() != Thread.State.TIMED_WAITING) {
            Thread.sleep(1);
        }
    }

    private static void executor() throws Exception {
        Ask.truth("Ask.here", "Calls.call", "FutureTask.run", "VirtualThread.run");
        try (ExecutorService each = Executors.newVirtualThreadPerTaskExecutor()) {
            each.submit(new Calls()).get();
        }
    }

    /** The preview API changed its shape in JDK 25. */
    private static void structured() throws Exception {
        Class<?> type = Class.forName("java.util.concurrent.StructuredTaskScope");
        boolean opened = Arrays.stream(type.getMethods()).anyMatch(method -> method.getName().equals("open"));
        Object scope = opened ? type.getMethod("open").invoke(null) : type.getConstructor().newInstance();
        type.getMethod("fork", Callable.class).invoke(scope, new Calls());
        type.getMethod("join").invoke(scope);
        type.getMethod("close").invoke(scope);
    }

    private static void warm() {
        for (int i = 0; i < Warm.TIMES; i++) {
            outer(Warm.anything(i));
        }
        Ask.needs(" [14] +VirtualThreads::outer ");
    }

    /** A native frame, which calls back into Java. */
    static native void call(Runnable step);

    static void outer(Runnable step) {
        inner(step);
    }

    static void inner(Runnable step) {
        step.run();
    }

    /** The run method of a thread. */
    record Goes(Runnable step, boolean thenAsk) implements Runnable {
        @Override
        public void run() {
            outer(step);
            if (thenAsk) {
                Ask.here();
            }
        }
    }

    record Deep(Runnable step, boolean partly) implements Runnable {
        @Override
        public void run() {
            down(LEVELS);
        }

        private void down(int left) {
            if (left == 0) {
                step.run();
            } else {
                down(left - 1);
            }
            if (partly && left == BACK) {
                ASK.run();
            }
        }
    }

    static final class Asker implements Runnable {
        @Override
        public void run() {
            Ask.here();
        }
    }

    /**
     * Parks `times` times, each time until it is woken. Then it asks, unless it is to be silent.
     */
    static final class Parks implements Runnable {
        private final int times;
        volatile int woken;
        volatile boolean silent;
        volatile Thread carrier;

        Parks(int times) {
            this.times = times;
        }

        @Override
        public void run() {
            carrier = carrier();
            for (int i = 0; i < times; i++) {
                while (woken == i) {
                    LockSupport.park();
                }
            }
            if (!silent) {
                Ask.here();
            }
        }

        /** Wakes the thread until it ends. Each time it must have parked first. */
        void wake(Thread thread) throws InterruptedException {
            for (int i = 0; i < times; i++) {
                awaitState(thread, Thread.State.WAITING);
                woken++;
                LockSupport.unpark(thread);
            }
            thread.join();
        }

        private static Thread carrier() {
            try {
                Method current = Thread.class.getDeclaredMethod("currentCarrierThread");
                current.setAccessible(true);
                return (Thread) current.invoke(null);
            } catch (ReflectiveOperationException error) {
                throw new IllegalStateException(error);
            }
        }
    }

    /** Sleeps long enough for the thread to be unmounted in every mode. */
    record Sleeps(boolean thenAsk) implements Runnable {
        @Override
        public void run() {
            try {
                Thread.sleep(300);
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            }
            if (thenAsk) {
                Ask.here();
            }
        }
    }

    /** Yields the only carrier until another waiting thread has run on it. */
    static final class Yields implements Runnable {
        volatile boolean other;

        @Override
        public void run() {
            Thread.ofVirtual().start(new Sets(this));
            while (!other) {
                Thread.yield();
            }
            Ask.here();
        }
    }

    record Sets(Yields yields) implements Runnable {
        @Override
        public void run() {
            yields.other = true;
        }
    }

    static final class Locks implements Runnable {
        final ReentrantLock lock = new ReentrantLock();

        @Override
        public void run() {
            lock.lock();
            Ask.here();
            lock.unlock();
        }
    }

    static final class Enters implements Runnable {
        @Override
        public void run() {
            synchronized (this) {
                Ask.here();
            }
        }
    }

    static final class Waits implements Runnable {
        private boolean told;

        @Override
        public void run() {
            synchronized (this) {
                while (!told) {
                    try {
                        wait();
                    } catch (InterruptedException error) {
                        throw new IllegalStateException(error);
                    }
                }
            }
            Ask.here();
        }

        synchronized void tell() {
            told = true;
            notifyAll();
        }
    }

    record Synchronized(Runnable step) implements Runnable {
        @Override
        public void run() {
            synchronized (this) {
                step.run();
            }
        }
    }

    record CallsNative(Runnable step) implements Runnable {
        @Override
        public void run() {
            call(step);
        }
    }

    static final class Calls implements Callable<String> {
        @Override
        public String call() {
            Ask.here();
            return "";
        }
    }

    record AsksOther(Thread other) implements Runnable {
        @Override
        public void run() {
            try {
                awaitState(other, Thread.State.WAITING);
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            }
            Ask.other(other);
        }
    }
}
