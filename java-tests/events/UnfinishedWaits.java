/*
 * A program hangs: two threads each hold a lock that the other one wants. The profile and the
 * report at the end must say which thread waits for what, since when, and which thread has it. A
 * thread in Object.wait() is reported only if events=wait is on.
 *
 * @test
 * @summary waits that are not over
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=120 UnfinishedWaits
 */

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Mark;
import dev.vouch.test.Profile;
import dev.vouch.test.Run;
import dev.vouch.test.Vm;

public class UnfinishedWaits {
    private static final int STUCK_MS = 600;

    public static void main(String[] args) {
        Run run = Vm.with("verbose,events=default+wait").run(Program.class).ok();
        Profile profile = run.profile();
        // Each thread's own clock reading before it requested the lock.
        double[] wanted = new double[2];
        double ends = 0;
        for (String line : run.out) {
            if (line.startsWith("ends ")) {
                ends = Double.parseDouble(line.split(" ")[1]) / 1e6;
            }
            if (line.startsWith("wants ")) {
                String[] words = line.split(" ");
                wanted[words[1].equals("first") ? 0 : 1] = Double.parseDouble(words[2]) / 1e6;
            }
        }
        Check.atLeast(1, ends, "when the program was about to end");
        // How long each thread has waited at least. This does not depend on the machine's speed.
        double[] least = new double[2];
        List<Mark> marks = profile.marks("monitor_still_enters");
        Check.equal(2, marks.size(), "threads that still wait for a lock");
        for (Mark mark : marks) {
            boolean first = mark.track.name.equals("first");
            Check.that(first || mark.track.name.equals("second"), "whose it is: " + mark.track.name);
            String wants = first ? "UnfinishedWaits$Program$Second" : "UnfinishedWaits$Program$First";
            // An older JVM may crash if the agent asks it for the owner.
            String has = Vm.major() < 17 ? "" : first ? ", which second has" : ", which first has";
            Check.equal(wants + has, mark.text("class"), "what it waits for");
            Check.that(mark.has(first ? "UnfinishedWaits$Program.first" : "UnfinishedWaits$Program.second"), "where: " + mark.stack);
            double since = mark.startMs - wanted[first ? 0 : 1];
            Check.atLeast(-0.001, since, "ms from when it wanted the lock to when it is told to have begun to wait");
            least[first ? 0 : 1] = ends - mark.startMs;
            Check.atLeast(least[first ? 0 : 1] - 0.001, mark.ms(), "how long it has waited, in ms");
        }
        JsonArray waiting = run.report().json.getAsJsonArray("waiting");
        Check.equal(2, waiting.size(), "threads that the report has waiting");
        for (int i = 0; i < 2; i++) {
            JsonObject row = waiting.get(i).getAsJsonObject();
            boolean first = row.get("thread").getAsString().equals("first");
            Check.that(Vm.major() < 17 || row.get("owner").getAsString().equals(first ? "second" : "first"), "who has the lock: " + row);
            Check.atLeast(least[first ? 0 : 1] - 0.001, row.get("waited_ms").getAsDouble(), "how long");
        }
        Check.that(run.vouchLines().stream().anyMatch(line -> line.contains("has been waiting for a lock of class UnfinishedWaits$Program$")
            && line.contains("and one more thread")), "the summary says so: " + run.vouchLines());
        List<Mark> waits = profile.marks("monitor_still_waits");
        waits.removeIf(mark -> !mark.track.name.equals("idle"));
        Check.equal(1, waits.size(), "threads named idle that still wait to be notified");
        Check.that(waits.get(0).has("UnfinishedWaits$Program.idle"), "where: " + waits.get(0).stack);
        boolean told = waits.get(0).says("class");
        // Newer JDKs do not report the object's class.
        Check.that(Vm.major() > 21 || told, "it is told what that waits on");
        Check.that(!told || waits.get(0).says("class", "UnfinishedWaits$Program$Bell"), "what it waits on");
        Check.that(profile.marks("monitor_still_waits").stream().noneMatch(mark -> mark.track.name.equals("hasty")), "who was not let wait waits for nothing");
        // A wait that is over must not be listed.
        Check.that(marks.stream().noneMatch(mark -> mark.track.name.equals("main")), "the main thread waits for nothing");

        run = Vm.with("events=off").run(Program.class).ok();
        Check.equal(0, run.report().json.getAsJsonArray("waiting").size(), "threads that wait, for one who has not asked");
    }

    static class Program {
        static class First {}

        static class Second {}

        static class Bell {}

        private static final Object FIRST = new First();
        private static final Object SECOND = new Second();
        private static final Object BELL = new Bell();
        private static final CountDownLatch BOTH = new CountDownLatch(2);
        private static final List<Thread> DAEMONS = new ArrayList<>();

        public static void main(String[] args) throws InterruptedException {
            daemon("first", Program::first);
            daemon("second", Program::second);
            daemon("idle", Program::idle);
            Thread hasty = new Thread(Program::hasty, "hasty");
            hasty.setDaemon(true);
            hasty.start();
            BOTH.await();
            for (Thread thread : DAEMONS) {
                while (thread.getState() != (thread.getName().equals("idle") ? Thread.State.WAITING : Thread.State.BLOCKED)) {
                    Thread.sleep(1);
                }
            }
            Thread.sleep(STUCK_MS);
            System.out.println("ends " + System.nanoTime());
        }

        private static void daemon(String name, Runnable run) {
            Thread thread = new Thread(run, name);
            thread.setDaemon(true);
            thread.start();
            DAEMONS.add(thread);
        }

        static void first() {
            synchronized (FIRST) {
                wants("first");
                synchronized (SECOND) {
                    throw new AssertionError();
                }
            }
        }

        static void second() {
            synchronized (SECOND) {
                wants("second");
                synchronized (FIRST) {
                    throw new AssertionError();
                }
            }
        }

        private static void wants(String name) {
            BOTH.countDown();
            try {
                BOTH.await();
            } catch (InterruptedException unexpected) {
                throw new AssertionError(unexpected);
            }
            System.out.println("wants " + name + " " + System.nanoTime());
        }

        /** An older JVM reports the wait before it checks that the thread may wait. */
        static void hasty() {
            try {
                BELL.wait(7);
                throw new AssertionError();
            } catch (InterruptedException | IllegalMonitorStateException expected) {
                while (true) {
                    Burn.work(1_000);
                }
            }
        }

        static void idle() {
            synchronized (BELL) {
                try {
                    BELL.wait();
                } catch (InterruptedException unexpected) {
                    throw new AssertionError(unexpected);
                }
            }
        }
    }
}
