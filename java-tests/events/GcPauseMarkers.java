/*
 * A garbage collection delays the threads that run, and no thread that sleeps meanwhile. Here one
 * thread runs all the time, and another sleeps during all collections.
 *
 * @test
 * @summary a pause is in the tracks of the threads that it delayed, and in no others
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=300 GcPauseMarkers
 */

import java.util.ArrayList;
import java.util.List;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Mark;
import dev.vouch.test.Profile;
import dev.vouch.test.Sample;
import dev.vouch.test.Skip;
import dev.vouch.test.Vm;

public class GcPauseMarkers {
    private static final int COLLECTIONS = 8;
    /** Pauses shorter than this are not shown, since they delay a thread unnoticeably. */
    private static final double LEAST_MS = 10;
    /** A thread with samples this shortly before and after a pause was delayed by it. */
    private static final double NEAR_MS = 1.5;

    public static void main(String[] args) {
        Profile profile = Vm.with("interval=1ms").collector("-XX:+UseSerialGC").flags("-Xmx300m").run(Program.class).ok().profile();
        List<Mark> pauses = profile.marks("gc_pause");
        Check.that(pauses.stream().filter(pause -> pause.ms() >= LEAST_MS).count() >= COLLECTIONS, "the trigger: long pauses among " + pauses);
        List<Mark> busy = of(profile, "busy");
        Check.contains(profile.meta.getAsJsonArray("markerSchema").toString(), "\"name\":\"held_up\"", "the front-end is told of it");
        // A thread that also waits for a processor has no samples around a pause, so it may have
        // been idle.
        List<Sample> ran = profile.track("busy").samples;
        long around = pauses.stream().filter(pause -> pause.ms() >= LEAST_MS)
            .filter(pause -> ran.stream().anyMatch(sample -> sample.timeMs > pause.startMs - NEAR_MS && sample.timeMs < pause.startMs))
            .filter(pause -> ran.stream().anyMatch(sample -> sample.timeMs > pause.endMs && sample.timeMs < pause.endMs + NEAR_MS)).count();
        boolean ranAroundMost = around >= COLLECTIONS / 2;
        Skip.unless(ranAroundMost || !busy.isEmpty(), "the thread that ran had to wait for a processor around most pauses");
        // A pause is doubtful if another thread took some of the processor's time around it.
        Check.atLeast(ranAroundMost ? around / 2.0 : 1, busy.size(), "pauses that held up a thread which ran right before and after");
        for (Mark mark : busy) {
            Check.that(pauses.stream().anyMatch(pause -> pause.startMs == mark.startMs && pause.endMs == mark.endMs
                && pause.text("reason").equals(mark.text("reason"))), mark + " is one of " + pauses);
            Check.atLeast(LEAST_MS, mark.ms(), "how long it held the thread up, in ms");
        }
        Check.equal(0, of(profile, "asleep").size(), "pauses that held up a thread which slept");
        Check.that(!profile.track("asleep").samples.isEmpty(), "which ran before and after");
    }

    private static List<Mark> of(Profile profile, String thread) {
        List<Mark> marks = profile.marks("held_up");
        marks.removeIf(mark -> !mark.track.name.equals(thread));
        return marks;
    }

    static class Program {
        private static volatile boolean over;

        public static void main(String[] args) throws Exception {
            // A collection must visit each of these many small live objects, which makes it long.
            List<Object[]> lives = new ArrayList<>();
            for (int i = 0; i < 2_000_000; i++) {
                lives.add(new Object[3]);
            }
            Thread busy = new Thread(() -> {
                while (!over) {
                    Burn.sink += Burn.work(1_000);
                }
            }, "busy");
            Thread asleep = new Thread(() -> {
                Burn.millis(5);
                try {
                    Thread.sleep(600_000);
                } catch (InterruptedException woken) {
                    Burn.millis(5);
                }
            }, "asleep");
            busy.start();
            asleep.start();
            while (asleep.getState() != Thread.State.TIMED_WAITING) {
                Thread.sleep(1);
            }
            for (int i = 0; i < COLLECTIONS; i++) {
                Thread.sleep(100);
                System.gc();
            }
            over = true;
            asleep.interrupt();
            busy.join();
            asleep.join();
            System.out.println(lives.size());
        }
    }
}
