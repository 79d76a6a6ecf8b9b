/*
 * A program parks a known number of times, for known durations, on objects of known classes. The
 * test compares the profile with what the program measured itself. Two threads that deadlock on
 * locks of java.util.concurrent are reported at the end, as with monitors. An agent that was
 * attached too late to see parks says so.
 *
 * @test
 * @summary parks: how many, when, how long, in which thread, on what, and which thread had it
 * @key attach
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=300 ParkEvents
 */

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

import dev.vouch.test.Asleep;
import dev.vouch.test.Attach;
import dev.vouch.test.BusyHostGaps;
import dev.vouch.test.Check;
import dev.vouch.test.Mark;
import dev.vouch.test.MeasuredPeriod;
import dev.vouch.test.Profile;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Vm;

public class ParkEvents {
    private static final int LOCKS = 3;
    private static final int SLEEPS = 4;
    private static final int SHORT = 200_000;
    private static final int SLEEP_MS = 30;
    private static final int TRIES = 20;
    /** By the kernel's clock, a wait may end a little early. */
    private static final double TICK_MS = 1;

    private static final BusyHostGaps HOST_GAPS = new BusyHostGaps();

    public static void main(String[] args) {
        known();
        stuck();
        late();
        Check.equal(0, Vm.with("events=default").run(Stuck.class).ok().profile().marks("park").size(), "parks that nobody asked for");
        HOST_GAPS.tell();
    }

    private static void known() {
        Run run = Vm.with("events=park").run(Program.class).ok();
        Profile profile = run.profile();
        JsonObject told = run.report().json.getAsJsonObject("events").getAsJsonObject("park");
        Check.atLeast(SHORT + LOCKS + SLEEPS, told.get("count").getAsLong(), "parks that are counted, those of compiled code too");
        Check.equal(profile.marks("park").size(), told.get("shown").getAsLong(), "parks that are shown");
        for (int i = 0; i < LOCKS; i++) {
            String wanter = "wanter-" + i;
            double waited = 0;
            // A parked thread may wake spuriously and park again.
            for (Mark mark : of(profile, wanter, "java.util.concurrent.locks.ReentrantLock$NonfairSync")) {
                MeasuredPeriod.holds(run, wanter, mark);
                Check.equal("main", mark.text("owner"), "who had the lock");
                Check.equal(0, mark.number("timeout"), "for how long it was to wait, at most");
                Check.that(mark.has("ParkEvents$Program.want"), "where it waited: " + mark.stack.functions());
                waited += mark.ms();
            }
            Check.atLeast(200, waited, "for how long " + wanter + " waited, in ms");
        }
        for (int i = 0; i < SLEEPS; i++) {
            String sleep = "sleep-" + i;
            if (run.out.contains(sleep + " in vain")) {
                HOST_GAPS.lacks("each time that the thread was to park until a time, " + TRIES + " times, that had come");
                continue;
            }
            double begin = MeasuredPeriod.begin(run, sleep);
            double end = MeasuredPeriod.end(run, sleep);
            List<Mark> sleeps = of(profile, "main", "ParkEvents$Bell");
            sleeps.removeIf(each -> each.endMs < begin || each.startMs > end);
            Check.equal(1, sleeps.size(), "times that main parked then: " + sleeps);
            Mark mark = sleeps.get(0);
            MeasuredPeriod.holds(run, sleep, mark);
            Check.that(!mark.says("owner"), "nobody has a bell: " + mark);
            if (i % 2 == 0) {
                Check.atLeast(SLEEP_MS - TICK_MS, mark.ms(), "how long that was, in ms");
                Check.equal(SLEEP_MS * 1_000_000L, mark.number("timeout"), "its timeout, in ns");
            } else {
                Check.between(1, mark.number("timeout"), SLEEP_MS * 1_000_000L, "its timeout, by the time of day, in ns");
            }
        }
        List<Mark> latch = of(profile, "opened", "java.util.concurrent.CountDownLatch$Sync");
        Check.atLeast(1, latch.size(), "times that a thread waited at a latch");
        for (Mark mark : profile.marks("park")) {
            // The JVM reports a thread that is inside a call, so its stack must be true.
            List<String> stack = mark.stack == null ? new ArrayList<>() : mark.stack.functions();
            Check.that(stack.stream().noneMatch(function -> function.startsWith("[refuted")), mark + " stands at " + stack);
        }
    }

    private static List<Mark> of(Profile profile, String track, String kind) {
        List<Mark> marks = profile.marks("park");
        marks.removeIf(mark -> !mark.track.name.equals(track) || !mark.says("class", kind));
        return marks;
    }

    private static void stuck() {
        Run run = Vm.with("verbose,events=park").run(Stuck.class).ok();
        JsonArray waiting = run.report().json.getAsJsonArray("waiting");
        Check.equal(2, waiting.size(), "threads that the report has waiting for a lock: " + waiting);
        for (JsonElement row : waiting) {
            JsonObject told = row.getAsJsonObject();
            String thread = told.get("thread").getAsString();
            Check.equal(thread.equals("first") ? "second" : "first", told.get("owner").getAsString(), "who has what " + thread + " wants");
            Check.equal("java.util.concurrent.locks.ReentrantLock$NonfairSync", told.get("class").getAsString(), "what that is");
        }
        List<Mark> marks = run.profile().marks("still_parks");
        marks.removeIf(mark -> !mark.has("ParkEvents$Stuck.lockBoth"));
        Check.equal(2, marks.size(), "threads that are shown to be parked still");
        Check.that(run.vouchLines().stream().anyMatch(line -> line.contains("has been waiting for a lock of class java.util.concurrent")),
            "the summary tells of it: " + run.vouchLines());
    }

    private static void late() {
        try (Running child = Vm.without().start(Known.class)) {
            child.awaitOut("ready");
            try (Attach attach = Attach.to(child)) {
                attach.must("start,events=default+park+exception,out=" + child.dir.resolve("late.json"));
                attach.must("stop,report=" + child.dir.resolve("late-report.json"));
            }
            Report report = Report.read(child.dir.resolve("late-report.json"));
            List<String> notes = report.engineNotes();
            String late = "events=park+exception is missing: it needs the agent from the JVM's start";
            Check.that(notes.stream().anyMatch(note -> note.contains(late)), "the report says what is missing, and why: " + notes);
            Check.equal("[gc, monitor]", report.json.getAsJsonObject("events").keySet().toString(), "kinds that are recorded");
            child.stdin().println("exit");
            child.waitFor();
        }
    }

    static class Bell {
    }

    static class Known {
        public static void main(String[] args) throws java.io.IOException {
            System.out.println("ready");
            System.in.read();
        }
    }

    static class Program {
        private static final Bell BELL = new Bell();

        public static void main(String[] args) throws InterruptedException {
            for (int i = 0; i < SHORT; i++) {
                // The permit is available, so this park returns at once.
                LockSupport.unpark(Thread.currentThread());
                LockSupport.park(BELL);
            }
            // The limit of shown events is for each second. This begins a new one.
            Thread.sleep(1_100);
            contend();
            for (int i = 0; i < SLEEPS; i++) {
                sleep("sleep-" + i, i % 2 != 0);
            }
            CountDownLatch latch = new CountDownLatch(1);
            Thread opened = new Thread(() -> {
                tid = Asleep.ownTid();
                try {
                    latch.await();
                } catch (InterruptedException unexpected) {
                    throw new AssertionError(unexpected);
                }
            }, "opened");
            start(opened);
            Thread.sleep(20);
            latch.countDown();
            opened.join();
        }

        /** The thread id of the thread that is to park. */
        private static volatile String tid;

        /**
         * Starts a thread and returns once it has parked. The JVM reports it as waiting a moment
         * before.
         */
        private static void start(Thread thread) throws InterruptedException {
            tid = null;
            thread.start();
            while (tid == null || thread.getState() != Thread.State.WAITING) {
                Thread.yield();
            }
            Asleep.await(tid);
        }

        /**
         * All threads wait at once, each for its own lock, and get it one after another. In later
         * JDKs printing takes a lock as well, so they must not print at the same time.
         */
        private static void contend() throws InterruptedException {
            ReentrantLock[] locks = new ReentrantLock[LOCKS];
            Thread[] wanters = new Thread[LOCKS];
            for (int i = 0; i < LOCKS; i++) {
                ReentrantLock lock = new ReentrantLock();
                String name = "wanter-" + i;
                locks[i] = lock;
                wanters[i] = new Thread(() -> want(lock, name), name);
                lock.lock();
                start(wanters[i]);
            }
            long until = System.nanoTime() + 300_000_000;
            while (System.nanoTime() < until) {
                Thread.sleep(1);
            }
            for (int i = 0; i < LOCKS; i++) {
                locks[i].unlock();
                wanters[i].join();
            }
        }

        static void want(ReentrantLock lock, String what) {
            tid = Asleep.ownTid();
            long begin = System.nanoTime();
            lock.lock();
            try {
                MeasuredPeriod.said(what, begin);
            } finally {
                lock.unlock();
            }
        }

        static void sleep(String what, boolean until) {
            long begin;
            long took;
            int tries = 0;
            do {
                long end = System.currentTimeMillis() + SLEEP_MS;
                begin = System.nanoTime();
                if (until) {
                    LockSupport.parkUntil(BELL, end);
                } else {
                    LockSupport.parkNanos(BELL, SLEEP_MS * 1_000_000L);
                }
                took = System.nanoTime() - begin;
                // On a busy or suspended machine the deadline may pass before the thread parks. A
                // late return cannot be distinguished from that, so the test tries again.
            } while (until && (took < SLEEP_MS * 500_000L || took > SLEEP_MS * 1_200_000L) && ++tries < TRIES);
            MeasuredPeriod.said(what, begin);
            if (tries == TRIES) {
                System.out.println(what + " in vain");
            }
        }
    }

    static class Stuck {
        private static final CountDownLatch BOTH = new CountDownLatch(2);

        private static final Map<String, String> TIDS = new ConcurrentHashMap<>();

        public static void main(String[] args) throws InterruptedException {
            ReentrantLock one = new ReentrantLock();
            ReentrantLock other = new ReentrantLock();
            Thread first = daemon("first", () -> lockBoth(one, other));
            Thread second = daemon("second", () -> lockBoth(other, one));
            BOTH.await();
            while (!wantsLock(first) || !wantsLock(second)) {
                Thread.sleep(1);
            }
            Asleep.await(TIDS.get("first"));
            Asleep.await(TIDS.get("second"));
        }

        private static boolean wantsLock(Thread thread) {
            Object blocker = LockSupport.getBlocker(thread);
            return blocker != null && blocker.getClass().getName().startsWith(ReentrantLock.class.getName())
                && thread.getState() == Thread.State.WAITING;
        }

        private static Thread daemon(String name, Runnable run) {
            Thread thread = new Thread(run, name);
            thread.setDaemon(true);
            thread.start();
            return thread;
        }

        static void lockBoth(ReentrantLock own, ReentrantLock wanted) {
            own.lock();
            TIDS.put(Thread.currentThread().getName(), Asleep.ownTid());
            BOTH.countDown();
            try {
                BOTH.await();
            } catch (InterruptedException unexpected) {
                throw new AssertionError(unexpected);
            }
            wanted.lock();
        }
    }
}
