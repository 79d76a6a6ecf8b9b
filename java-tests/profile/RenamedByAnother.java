/*
 * A pool names its threads from outside, and the new name must reach the timeline, too. Up to JDK
 * 20 the JVM reports it at once. From 21 on it reports only a thread's own call, and the agent has
 * to look from time to time.
 *
 * @test
 * @summary A name set by another thread is seen: at once up to JDK 20, soon from 21 on
 * @library /lib
 * @build dev.vouch.test.*
 * @run main RenamedByAnother
 */

import java.util.concurrent.CountDownLatch;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Profile;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.Vm;

public class RenamedByAnother {
    /** A name longer than the kernel keeps, so the kernel's name stays the same. */
    private static final String NAME = "a-thread-that-others-rename-";
    private static final long BEFORE_MS = 100;
    private static final long AFTER_MS = 2_000;

    public static void main(String[] args) {
        Run run = Vm.with("interval=1ms").run(Program.class).ok();
        Profile profile = run.profile();
        profile.track(NAME + "before").checkRan("RenamedByAnother$Program.before", BEFORE_MS);
        Check.equal(1, profile.tracks(NAME + "after").size(), "tracks of the name that was given, among " + profile.names());

        boolean told = Vm.major() < 21;
        profile.track(NAME + "after").checkRan("RenamedByAnother$Program.after", told ? AFTER_MS : 0.5 * AFTER_MS);
        if (told) {
            Check.equal(0, profile.track(NAME + "before").weightOf("RenamedByAnother$Program.after"), "weight of it before");
        }
        run.report().checkConserved(NAME + "after");
        double renamed = run.number("renamed") / 1e6;
        for (Sample sample : profile.track(NAME + "after").samples) {
            Check.atLeast(renamed, sample.timeMs, "time of a sample under the name that was given at " + renamed);
        }
        double cpu = run.report().thread(NAME + "before").cpuMs + run.report().thread(NAME + "after").cpuMs;
        double burnt = run.number("burnt") / 1e6;
        Check.atLeast(BEFORE_MS + AFTER_MS, burnt, "the trigger: what the thread has run, by itself, in ms");
        Check.between(burnt, cpu, burnt + 40, "CPU time under both names, in ms");
    }

    static class Program {
        public static void main(String[] args) throws InterruptedException {
            // Loads the classes that the first call needs, outside of the measured work.
            Burn.millis(1);
            CountDownLatch worked = new CountDownLatch(1);
            CountDownLatch renamed = new CountDownLatch(1);
            long[] burnt = new long[1];
            Thread thread = new Thread(() -> {
                before();
                worked.countDown();
                awaitQuietly(renamed);
                after();
                // The CPU time that the thread was charged in all.
                burnt[0] = Burn.cpuNanos();
            }, NAME + "before");
            thread.start();
            worked.await();
            System.out.println("renamed=" + System.nanoTime());
            thread.setName(NAME + "after");
            renamed.countDown();
            thread.join();
            System.out.println("burnt=" + burnt[0]);
        }

        private static void awaitQuietly(CountDownLatch latch) {
            try {
                latch.await();
            } catch (InterruptedException error) {
                throw new AssertionError(error);
            }
        }

        private static void before() {
            Burn.millis(BEFORE_MS);
        }

        private static void after() {
            // Works until the agent has looked, even if the machine paused meanwhile and the thread
            // was charged for it.
            Burn.pieces(AFTER_MS);
        }
    }
}
