/*
 * Users attach because of threads that have run for long. The agent missed their start events. Even
 * so, their names and stacks must be as good as those of later threads. A thread that is renamed
 * must appear under both names. The agent gets no event for a rename after the attach, so it polls
 * the names now and then.
 *
 * @test
 * @summary threads that are older than the agent have names and stacks
 * @key attach threads
 * @library /lib
 * @build dev.vouch.test.*
 * @run main OldThreads
 */

import java.util.Scanner;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.SynchronousQueue;

import dev.vouch.test.Attach;
import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Profile;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Track;
import dev.vouch.test.Vm;

public class OldThreads {
    private static final int BURNT_MS = 80;
    /** The agent polls names every half second, and the machine may be busy. */
    private static final int MOST_ROUNDS = 200;

    public static void main(String[] args) {
        Run run;
        try (Running child = Vm.without().start(Program.class)) {
            child.awaitOut("ready");
            try (Attach attach = Attach.to(child)) {
                attach.must("out=profile.json,report=report.json,interval=1ms");
                untilRenamed(child, attach);
            }
            child.stdin().println("end");
            run = child.waitFor().ok();
        }
        for (String name : new String[] {"main", "old 0", "old 1", "new"}) {
            sampled(run, name);
        }
        renamed(run);
        Profile profile = run.profile();
        Check.that(profile.names().stream().anyMatch(name -> name.startsWith("VM Thread")), "the VM's own threads have no names: " + profile.names());
    }

    /**
     * Makes the thread burn under its second name until the profile has that name, and once more.
     */
    private static void untilRenamed(Running child, Attach attach) {
        for (int round = 0; round < MOST_ROUNDS; round++) {
            child.stdin().println("more");
            child.awaitOut("round " + round + " ");
            attach.must("dump,quiet,out=dump.json,report=dump-report.json");
            if (Profile.read(child.dir.resolve("dump.json")).names().contains("renamed")) {
                child.stdin().println("more");
                child.awaitOut("round " + (round + 1) + " ");
                return;
            }
        }
        Check.fail("the thread's second name was not seen in " + MOST_ROUNDS + " rounds");
    }

    private static void sampled(Run run, String name) {
        Report.ThreadRow row = run.report().thread(name);
        double burnt = run.number(name);
        Check.atLeast(burnt - 2, row.cpuMs, "CPU time of " + row);
        run.report().checkConserved(name);
        Track track = run.profile().track(name);
        Check.atLeast(0.9 * burnt, track.weightOf("OldThreads$Program.burn"), "weight of burn in " + row);
        String root = name.equals("main") ? "OldThreads$Program.main" : "java.lang.Thread.run";
        long rooted = track.samples.stream().filter(sample -> sample.root().function.equals(root)).mapToLong(sample -> sample.weight).sum();
        Check.atLeast(0.9 * burnt, rooted, "weight of the stacks that reach back to the beginning of " + row);
    }

    private static void renamed(Run run) {
        Report.ThreadRow old = run.report().thread("old 2");
        Report.ThreadRow renamed = run.report().thread("renamed");
        double before = run.number("old 2");
        double after = run.number("renamed");
        Check.atLeast(0.95 * before - 3, old.sampledMs, "sampled time of " + old);
        Check.atLeast(0.8 * BURNT_MS, renamed.sampledMs, "sampled time, which has at least the last round, of " + renamed);
        double cpu = old.cpuMs + renamed.cpuMs;
        Check.atLeast(before + after - 4, cpu, "CPU time under both names");
        run.report().checkConserved("renamed");
    }

    static class Program {
        private static final CountDownLatch GO = new CountDownLatch(1);
        private static final SynchronousQueue<Boolean> MORE = new SynchronousQueue<>();

        public static void main(String[] args) throws Exception {
            Thread[] threads = {start("old 0", Program::once), start("old 1", Program::once), start("old 2", Program::again), null};
            System.out.println("ready");
            Scanner in = new Scanner(System.in);
            for (int round = 0; in.nextLine().equals("more"); round++) {
                if (round == 0) {
                    threads[3] = start("new", Program::once);
                    GO.countDown();
                    once();
                }
                MORE.put(true);
                // The main thread takes this once the round is over.
                MORE.put(true);
                System.out.println("round " + round + " is over");
            }
            MORE.put(false);
            for (Thread thread : threads) {
                thread.join();
            }
        }

        private static void once() {
            try {
                GO.await();
                print(burn());
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            }
        }

        private static void again() {
            once();
            Thread.currentThread().setName("renamed");
            double burnt = 0;
            try {
                while (MORE.take()) {
                    burnt += burn();
                    MORE.take();
                }
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            }
            print(burnt);
        }

        private static Thread start(String name, Runnable work) {
            Thread thread = new Thread(work, name);
            thread.start();
            return thread;
        }

        private static double burn() {
            return Burn.millis(BURNT_MS) / 1e6;
        }

        private static void print(double ms) {
            System.out.println(Thread.currentThread().getName() + "=" + Math.round(ms));
        }
    }
}
