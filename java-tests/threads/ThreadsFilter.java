/*
 * threads=REGEX samples only threads with matching names. It makes a short interval affordable in a
 * server of five hundred threads, so the others must cost nothing. A thread that takes a matching
 * name must be sampled from then on.
 *
 * @test
 * @summary threads= samples the matching threads and no others, with every engine
 * @key threads newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main ThreadsFilter
 */

import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Profile;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Vm;

public class ThreadsFilter {
    /** CPU time of each thread under each of its names. */
    private static final String EACH_MS = "100";
    /**
     * All threads together have eight times this: enough for dozens of samples, if any were taken.
     */
    private static final String LITTLE_MS = "30";

    public static void main(String[] args) {
        for (String engine : new String[] {"perf", "timer", "itimer"}) {
            filtered(engine);
        }
        nobody();
    }

    private static void filtered(String engine) {
        Run run = Vm.with("interval=1ms,threads=^wanted.*[0-9]$,engine=" + engine).run(Program.class, EACH_MS).ok();
        Profile profile = run.profile();
        for (String name : new String[] {"wanted 1", "wanted 2", "wanted 3"}) {
            Report.ThreadRow row = run.report().thread(name);
            double burnt = run.number(name) / 1e6;
            Check.atLeast(burnt - 1, row.cpuMs, engine + ": CPU time of " + row);
            run.report().checkConserved(row);
            profile.track(name).checkRan("ThreadsFilter$Program.burn", burnt);
        }
        // A thread with two names has a track for each. The track of the name that does not match
        // is empty.
        TreeSet<String> met = new TreeSet<>();
        // A signal may interrupt the very call that renames the thread.
        profile.tracks.stream().filter(track -> track.samples.size() > (track.name.equals("other 6") ? 1 : 0))
            .forEach(track -> met.add(track.name));
        Check.equal("[wanted 1, wanted 2, wanted 3]", met.toString(), engine + ": threads with samples");
    }

    private static void nobody() {
        Run run = Vm.with("threads=^nobody$").run(Program.class, LITTLE_MS).ok();
        Check.equal(0, run.report().signals(), "signals where no thread matches");
        Check.contains(run.vouchLines().toString(), "no samples were taken", "summary");
    }

    static class Program {
        private static int millis;

        public static void main(String[] args) throws InterruptedException {
            millis = Integer.parseInt(args[0]);
            List<Thread> threads = new ArrayList<>();
            for (String name : new String[] {"wanted 1", "other 1", "wanted 2", "wanted", "unwanted 4"}) {
                threads.add(new Thread(() -> burn(name), name));
            }
            threads.add(new Thread(() -> {
                burn("other 5");
                Thread.currentThread().setName("wanted 3");
                burn("wanted 3");
                Thread.currentThread().setName("other 6");
                burn("other 6");
            }, "other 5"));
            threads.forEach(Thread::start);
            for (Thread thread : threads) {
                thread.join();
            }
        }

        private static void burn(String name) {
            System.out.println(name + "=" + Burn.millis(millis));
        }
    }
}
