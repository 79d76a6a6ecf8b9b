/*
 * Walks over methods without ids. The agent skips its work at ClassPrepare here, and a walk cannot
 * create ids.
 *
 * The witness creates the ids that it returns, so each case has its own methods and asks once.
 *
 * @test
 * @summary walks over methods without method ids
 * @library /lib
 * @build dev.vouch.test.* dev.vouch.lab.* dev.vouch.Oracle
 * @run main/timeout=300 LateIds
 */

import java.util.Arrays;
import java.util.Comparator;
import java.util.concurrent.CountDownLatch;

import dev.vouch.Oracle;
import dev.vouch.lab.Ask;
import dev.vouch.lab.Lab;
import dev.vouch.lab.Mode;
import dev.vouch.lab.Scenario;

public class LateIds extends Scenario {
    private static final int WARM = 20_000;

    public static void main(String[] args) throws Throwable {
        Lab.main(new LateIds(), args);
    }

    @Override
    protected String[] cases() {
        return new String[] {"static", "virtual", "interface", "constructor", "class-init", "below-jdk", "waiting-thread",
            "compiled", "asked-before"};
    }

    @Override
    protected String agentOptions(String name) {
        return "lab=late-ids";
    }

    @Override
    protected String[] flags(String name) {
        return name.equals("compiled") ? new String[] {"-XX:+PrintCompilation"} : new String[0];
    }

    @Override
    protected String unfit(String name, int jdk, Mode mode) {
        return name.equals("compiled") && !mode.compiles() ? "nothing is compiled" : null;
    }

    @Override
    protected void run(String name) throws Throwable {
        switch (name) {
            case "static":
                Ask.truth("Ask.here", "Static.second", "Static.first", "LateIds.run", "LateIds.main");
                Static.first();
                break;
            case "virtual":
                Ask.truth("Ask.here", "Virtual.second", "Virtual.first", "LateIds.run", "LateIds.main");
                new Virtual().first();
                break;
            case "interface":
                Ask.truth("Ask.here", "Implements.run", "LateIds.run", "LateIds.main");
                Runnable runs = new Implements();
                runs.run();
                break;
            case "constructor":
                Ask.truth("Ask.here", "Made.<init>", "LateIds.run", "LateIds.main");
                new Made();
                break;
            case "class-init":
                Ask.truth("Ask.here", "Initialised.<clinit>", "LateIds.run", "LateIds.main");
                new Initialised();
                break;
            case "below-jdk":
                Ask.truth("Ask.here", "Compares.compare", "Arrays.sort", "LateIds.run", "LateIds.main");
                Arrays.sort(new Integer[] {2, 1}, new Compares());
                break;
            case "waiting-thread":
                waitingThread();
                break;
            case "compiled":
                Ask.unarmed();
                for (int i = 0; i < WARM; i++) {
                    Warm.first();
                }
                Ask.armed();
                Ask.needs(" [14] +LateIds\\$Warm::first ");
                Ask.truth("Ask.here", "Warm.second", "Warm.first", "LateIds.run", "LateIds.main");
                Warm.first();
                break;
            case "asked-before":
                Ask.truth("Ask.here", "Repaired.first", "LateIds.run", "LateIds.main");
                Repaired.first();
                break;
            default:
                throw new AssertionError(name);
        }
    }

    private static void waitingThread() throws InterruptedException {
        Ask.truth("Waits.second", "Waits.run", "Thread.run");
        Waits waits = new Waits();
        Thread thread = new Thread(waits);
        thread.start();
        Ask.await(waits.there);
        while (thread.getState() != Thread.State.WAITING) {
            Thread.sleep(1);
        }
        Ask.other(thread);
        waits.leave.countDown();
        thread.join();
    }

    static final class Static {
        static void first() {
            second();
        }

        static void second() {
            Ask.here();
        }
    }

    static class Virtual {
        void first() {
            second();
        }

        void second() {
            Ask.here();
        }
    }

    static final class Implements implements Runnable {
        @Override
        public void run() {
            Ask.here();
        }
    }

    static final class Made {
        Made() {
            Ask.here();
        }
    }

    static final class Initialised {
        static {
            Ask.here();
        }
    }

    static final class Compares implements Comparator<Integer> {
        @Override
        public int compare(Integer one, Integer other) {
            Ask.here();
            return one.compareTo(other);
        }
    }

    static final class Waits implements Runnable {
        final CountDownLatch there = new CountDownLatch(1);
        final CountDownLatch leave = new CountDownLatch(1);

        @Override
        public void run() {
            second();
        }

        void second() {
            there.countDown();
            Ask.await(leave);
        }
    }

    static final class Warm {
        static void first() {
            second();
        }

        static void second() {
            Ask.here();
        }
    }

    /** The first answer is ignored, but it creates the ids, so the next walk must have them. */
    static final class Repaired {
        static void first() {
            Oracle.self(Ask.DEEP);
            Ask.here();
        }
    }
}
