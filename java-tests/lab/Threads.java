/*
 * The starts and ends of threads: the outermost frames are unusual, and the JVM itself makes the
 * call.
 *
 * @test
 * @summary thread start, death by exception, pools, timers, and the end of main and of the JVM
 * @library /lib
 * @build dev.vouch.test.* dev.vouch.lab.* dev.vouch.Oracle
 * @run main/timeout=300 Threads
 */

import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RecursiveAction;

import dev.vouch.lab.Ask;
import dev.vouch.lab.Lab;
import dev.vouch.lab.Scenario;

public class Threads extends Scenario {
    public static void main(String[] args) throws Throwable {
        Lab.main(new Threads(), args);
    }

    @Override
    protected String[] cases() {
        return new String[] {"run-override", "runnable", "first-call", "uncaught-handler", "default-handler", "group-handler",
            "thread-local", "fork-join", "common-pool", "thread-pool", "scheduled", "timer", "after-main", "destroy-java-vm",
            "shutdown-hook", "daemon-at-exit"};
    }

    /** A case about the end of main or of the JVM has its own JVM. */
    @Override
    protected String[] flags(String name) {
        switch (name) {
            case "after-main":
            case "destroy-java-vm":
            case "shutdown-hook":
            case "daemon-at-exit":
                return new String[] {"-Dlab.case=" + name};
            default:
                return new String[0];
        }
    }

    @Override
    protected void run(String name) throws Throwable {
        switch (name) {
            case "run-override":
                Ask.truth("Ask.here", "Overrides.run");
                runToEnd(new Overrides());
                break;
            case "runnable":
                Ask.truth("Ask.here", "Asker.run", "Thread.run");
                runToEnd(new Thread(new Asker()));
                break;
            case "first-call":
                Ask.truth("Ask.here", "Initialised.<clinit>", "CallsFirst.run");
                runToEnd(new CallsFirst());
                break;
            case "uncaught-handler":
                Ask.truth("Ask.here", "Handler.uncaughtException", "Thread.dispatchUncaughtException");
                Thread handled = new Thread(new Throws());
                handled.setUncaughtExceptionHandler(new Handler());
                runToEnd(handled);
                break;
            case "default-handler":
                Ask.truth("Ask.here", "Handler.uncaughtException", "ThreadGroup.uncaughtException", "Thread.dispatchUncaughtException");
                Thread.setDefaultUncaughtExceptionHandler(new Handler());
                runToEnd(new Thread(new Throws()));
                Thread.setDefaultUncaughtExceptionHandler(null);
                break;
            case "group-handler":
                Ask.truth("Ask.here", "Group.uncaughtException", "Thread.dispatchUncaughtException");
                runToEnd(new Thread(new Group(), new Throws()));
                break;
            case "thread-local":
                Ask.truth("Ask.here", "Local.initialValue", "ThreadLocal.get", "Gets.run", "Thread.run");
                runToEnd(new Thread(new Gets()));
                break;
            case "fork-join":
                Ask.truth("Ask.here", "Action.compute", "RecursiveAction.exec", "ForkJoinTask.doExec", "ForkJoinWorkerThread.run");
                ForkJoinPool pool = new ForkJoinPool(1);
                fork(pool);
                pool.shutdown();
                break;
            case "common-pool":
                Ask.truth("Ask.here", "Action.compute", "RecursiveAction.exec", "ForkJoinTask.doExec", "ForkJoinWorkerThread.run");
                fork(ForkJoinPool.commonPool());
                break;
            case "thread-pool":
                Ask.truth("Ask.here", "Calls.call", "FutureTask.run", "ThreadPoolExecutor.runWorker", "ThreadPoolExecutor$Worker.run", "Thread.run");
                finish(Executors.newFixedThreadPool(1));
                break;
            case "scheduled":
                Ask.truth("Ask.here", "Calls.call", "FutureTask.run", "ThreadPoolExecutor.runWorker", "ThreadPoolExecutor$Worker.run", "Thread.run");
                finish(Executors.newScheduledThreadPool(1));
                break;
            case "timer":
                Ask.truth("Ask.here", "Task.run", "TimerThread.mainLoop", "TimerThread.run");
                Task task = new Task();
                Timer timer = new Timer(true);
                timer.schedule(task, 0);
                Ask.await(task.done);
                timer.cancel();
                break;
            case "after-main":
                Ask.truth("Ask.here", "AfterMain.run", "Thread.run");
                new Thread(new AfterMain(Thread.currentThread())).start();
                break;
            case "destroy-java-vm":
                new Thread(new AsksDestroyer(Thread.currentThread())).start();
                break;
            case "shutdown-hook":
                Ask.truth("Ask.here", "Asker.run", "Thread.run");
                Runtime.getRuntime().addShutdownHook(new Thread(new Asker()));
                break;
            case "daemon-at-exit":
                Ask.truth("Waits.run", "Thread.run");
                daemonAtExit();
                break;
            default:
                throw new AssertionError(name);
        }
    }

    private static void runToEnd(Thread thread) throws InterruptedException {
        thread.start();
        thread.join();
    }

    /**
     * Waits for a flag and not for the task, since a thread that joins a task may run it itself.
     */
    private static void fork(ForkJoinPool pool) {
        Action action = new Action();
        pool.execute(action);
        Ask.await(action.done);
    }

    private static void finish(ExecutorService pool) throws Exception {
        pool.submit(new Calls()).get();
        pool.shutdown();
    }

    private static void daemonAtExit() {
        Waits waits = new Waits();
        Thread daemon = new Thread(waits);
        daemon.setDaemon(true);
        daemon.start();
        Ask.await(waits.there);
        Runtime.getRuntime().addShutdownHook(new Thread(new AsksOther(daemon)));
    }

    static final class Asker implements Runnable {
        @Override
        public void run() {
            Ask.here();
        }
    }

    static final class Overrides extends Thread {
        @Override
        public void run() {
            Ask.here();
        }
    }

    /** The thread first initialises a class. */
    static final class CallsFirst extends Thread {
        @Override
        public void run() {
            new Initialised();
        }
    }

    static final class Initialised {
        static {
            Ask.here();
        }
    }

    static final class Throws implements Runnable {
        @Override
        public void run() {
            throw new IllegalStateException("this is meant");
        }
    }

    static final class Handler implements Thread.UncaughtExceptionHandler {
        @Override
        public void uncaughtException(Thread thread, Throwable thrown) {
            Ask.here();
        }
    }

    static final class Group extends ThreadGroup {
        Group() {
            super("group");
        }

        @Override
        public void uncaughtException(Thread thread, Throwable thrown) {
            Ask.here();
        }
    }

    static final class Local extends ThreadLocal<String> {
        @Override
        protected String initialValue() {
            Ask.here();
            return "";
        }
    }

    static final class Gets implements Runnable {
        private final Local local = new Local();

        @Override
        public void run() {
            local.get();
        }
    }

    static final class Action extends RecursiveAction {
        private static final long serialVersionUID = 1;
        final transient CountDownLatch done = new CountDownLatch(1);

        @Override
        protected void compute() {
            Ask.here();
            done.countDown();
        }
    }

    static final class Calls implements Callable<String> {
        @Override
        public String call() {
            Ask.here();
            return "";
        }
    }

    static final class Task extends TimerTask {
        final CountDownLatch done = new CountDownLatch(1);

        @Override
        public void run() {
            Ask.here();
            done.countDown();
        }
    }

    static final class Waits implements Runnable {
        final CountDownLatch there = new CountDownLatch(1);

        @Override
        public void run() {
            there.countDown();
            Ask.await(new CountDownLatch(1));
        }
    }

    /** Asks once the main thread has ended. */
    static final class AfterMain implements Runnable {
        private final Thread main;

        AfterMain(Thread main) {
            this.main = main;
        }

        @Override
        public void run() {
            joined(main);
            Ask.here();
        }
    }

    /** Asks about a waiting daemon thread while the JVM shuts down. */
    static final class AsksOther implements Runnable {
        private final Thread daemon;

        AsksOther(Thread daemon) {
            this.daemon = daemon;
        }

        @Override
        public void run() {
            Ask.other(daemon);
        }
    }

    /**
     * Asks about the thread that waits inside the JVM, without a Java frame, for the others to end.
     */
    static final class AsksDestroyer implements Runnable {
        private final Thread main;

        AsksDestroyer(Thread main) {
            this.main = main;
        }

        @Override
        public void run() {
            joined(main);
            Thread destroyer = null;
            while (destroyer == null) {
                destroyer = find("DestroyJavaVM");
            }
            Ask.other(destroyer);
        }

        private static Thread find(String name) {
            Thread[] all = new Thread[100];
            int count = Thread.currentThread().getThreadGroup().enumerate(all);
            for (int i = 0; i < count; i++) {
                if (all[i].getName().equals(name)) {
                    return all[i];
                }
            }
            return null;
        }
    }

    static void joined(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }
}
