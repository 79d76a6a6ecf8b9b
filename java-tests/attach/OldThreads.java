/*
 * Threads that were there before the agent. They are the ones that a user attaches for, and the agent has seen none of
 * their events: their names and their stacks must be as good as those of threads that start later. A thread that
 * takes another name after the load shows both: the agent has come too late to be told, so it looks now and then.
 *
 * @test
 * @summary threads that are older than the agent have names and stacks
 * @key attach threads
 * @library /lib
 * @build dev.vouch.test.*
 * @run main OldThreads
 */

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;

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

    public static void main(String[] args) {
        Run run;
        try (Running child = Vm.without().start(Program.class)) {
            child.awaitOut("ready");
            try (Attach attach = Attach.to(child)) {
                attach.must("out=profile.json,report=report.json,interval=1ms");
            }
            child.stdin().println();
            run = child.waitFor().ok();
        }
        Report report = run.report();
        Profile profile = run.profile();
        for (String name : new String[] {"main", "old 0", "old 1", "new"}) {
            Report.ThreadRow row = report.thread(name);
            Track track = profile.track(name);
            double burnt = run.number(name);
            boolean isMain = name.equals("main");
            Check.between(burnt - 2, row.cpuMs, 1.1 * burnt + 100, "CPU time of " + row);
            Check.near(row.cpuMs, row.sampledMs, 0.05 * row.cpuMs + 3, "sampled time of " + row);
            Check.atLeast(0.9 * burnt, track.weightOf("OldThreads$Program.burn"), "weight of burn in " + row);
            long rooted = track.samples.stream()
                .filter(sample -> sample.root().function.equals(isMain ? "OldThreads$Program.main" : "java.lang.Thread.run"))
                .mapToLong(sample -> sample.weight).sum();
            Check.atLeast(0.9 * burnt, rooted, "weight of the stacks that reach back to the beginning of " + row);
        }
        renamed(run);
        Check.that(profile.names().stream().anyMatch(name -> name.startsWith("VM Thread")), "the VM's own threads have no names: " + profile.names());
    }

    private static void renamed(Run run) {
        Report.ThreadRow old = run.report().thread("old 2");
        Report.ThreadRow renamed = run.report().thread("old 2, renamed");
        double before = run.number("old 2");
        double after = run.number("old 2, renamed");
        Check.atLeast(0.95 * before - 3, old.sampledMs, "sampled time of " + old);
        Check.atLeast(0.25 * after, renamed.sampledMs, "sampled time of " + renamed);
        Check.near(before + after, old.sampledMs + renamed.sampledMs, 0.05 * (before + after) + 6, "sampled time under both names");
        Check.near(before + after, old.cpuMs + renamed.cpuMs, 0.05 * (before + after) + 6, "CPU time under both names");
    }

    static class Program {
        public static void main(String[] args) throws Exception {
            CountDownLatch go = new CountDownLatch(1);
            List<Thread> threads = new ArrayList<>();
            for (String name : new String[] {"old 0", "old 1", "old 2"}) {
                threads.add(start(name, () -> {
                    go.await();
                    burn(name, BURNT_MS);
                    if (name.equals("old 2")) {
                        Thread.currentThread().setName("old 2, renamed");
                        burn("old 2, renamed", 6 * BURNT_MS);
                    }
                    return null;
                }));
            }
            System.out.println("ready");
            System.in.read();
            threads.add(start("new", () -> burn("new", BURNT_MS)));
            go.countDown();
            burn("main", BURNT_MS);
            for (Thread thread : threads) {
                thread.join();
            }
        }

        private static Thread start(String name, Callable<?> work) {
            Thread thread = new Thread(() -> {
                try {
                    work.call();
                } catch (Exception error) {
                    throw new IllegalStateException(error);
                }
            }, name);
            thread.start();
            return thread;
        }

        private static double burn(String name, int millis) {
            double ms = Burn.millis(millis) / 1e6;
            System.out.println(name + "=" + Math.round(ms));
            return ms;
        }
    }
}
