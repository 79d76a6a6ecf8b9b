/*
 * A program causes a known number of all JVM events at known times. The test compares the profile's
 * events with what the program measured itself, by the same clock.
 *
 * @test id=on
 * @summary every kind of event: how many, when, how long, in which thread, and where
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=300 AllEventKinds on
 */

/*
 * @test id=off
 * @summary no kind of event where none is asked for
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=300 AllEventKinds off
 */

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Mark;
import dev.vouch.test.MeasuredPeriod;
import dev.vouch.test.Profile;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Vm;

public class AllEventKinds {
    private static final int COLLECTIONS = 7;
    private static final int LOCKS = 3;
    private static final int WAITS = 3;
    private static final int THROWN = 11;
    private static final int ARRAYS = 3_000;
    private static final int ARRAY = 64 << 10;
    /** By the kernel's clock, a wait may end a little early. */
    private static final double TICK_MS = 1;
    private static final String COLLECTIONS_ALONE = "collections alone";
    private static final String IN_HASTE = "in haste";

    public static void main(String[] args) {
        if (args[0].equals("off")) {
            off();
            return;
        }
        // Both programs sleep most of the time, so they run at once.
        try (Running all = start("events=all"); Running byDefault = start("verbose,interval=1ms", IN_HASTE)) {
            all(all.waitFor().ok());
            byDefault(byDefault.waitFor().ok());
        }
    }

    private static Running start(String options, String... arguments) {
        // Only the program allocates: this collector allocates nothing by itself.
        return Vm.with(options).collector("-XX:+UseSerialGC").flags("-Xmx512m", "-Xmn400m").start(Program.class, arguments);
    }

    private static void all(Run run) {
        Profile profile = run.profile();
        JsonObject events = run.report().json.getAsJsonObject("events");
        collections(run, profile);
        locks(run, profile);
        waits(run, profile);
        exceptions(profile);
        if (Vm.major() >= 11) {
            allocations(profile);
        } else {
            Check.that(run.report().engineNotes().stream().anyMatch(note -> note.contains("events=alloc")),
                "the report says what this JVM does not publish: " + run.report().engineNotes());
        }
        List<Mark> fresh = profile.marks("class_prepare", "class", "AllEventKinds$Fresh");
        Check.equal(1, fresh.size(), "classes AllEventKinds$Fresh");
        Check.that(fresh.get(0).has("AllEventKinds$Program.load"), "its stack has who wanted it: " + fresh.get(0).stack);
        if (!run.report().vmFlags().contains("-Xint")) {
            Check.atLeast(1, profile.marks("compilation", "method", "AllEventKinds$Program.hot").size(), "times that hot was compiled");
        }

        for (String kind : new String[] {"monitor", "wait", "gc"}) {
            JsonObject told = events.getAsJsonObject(kind);
            String marker = kind.equals("gc") ? "gc_pause" : kind.equals("wait") ? "monitor_wait" : "monitor_enter";
            List<Mark> shown = profile.marks(marker);
            Check.equal(shown.size(), told.get("shown").getAsLong(), "events of " + kind + " that are shown");
            double took = shown.stream().mapToDouble(Mark::ms).sum();
            double unseen = told.get("count").getAsLong() - shown.size();
            Check.between(took - 0.01 * shown.size(), told.get("took_ms").getAsDouble(), took + 0.01 * shown.size() + unseen,
                "what all of " + kind + " took, in ms");
        }
        for (String kind : new String[] {"monitor_enter", "monitor_wait", "exception", "class_prepare"}) {
            for (Mark mark : profile.marks(kind)) {
                // The JVM reports a thread that is inside a call, so its stack must be true.
                List<String> stack = mark.stack == null ? new ArrayList<>() : mark.stack.functions();
                Check.that(stack.stream().noneMatch(function -> function.startsWith("[refuted")), mark + " stands at " + stack);
            }
        }
        if (Vm.major() >= 11) {
            JsonObject stood = run.report().json.getAsJsonObject("safepoints");
            // A collection is at a safepoint, so there are at least as many safepoints.
            Check.atLeast(events.getAsJsonObject("gc").get("count").getAsLong(), stood.get("count").getAsLong(), "safepoints");
            Check.between(events.getAsJsonObject("gc").get("took_ms").getAsDouble(), stood.get("stopped_ms").getAsDouble(),
                run.report().wallMs(), "time at safepoints, in ms");
        }
        JsonArray counters = profile.json.getAsJsonArray("counters");
        Check.equal(2, counters.size(), "counters");
        Check.equal("Heap", counters.get(0).getAsJsonObject().get("name").getAsString(), "the first");
        JsonObject heap = counters.get(0).getAsJsonObject().getAsJsonObject("samples");
        long used = 0;
        long most = 0;
        for (int row = 0; row < heap.get("length").getAsInt(); row++) {
            used += heap.getAsJsonArray("count").get(row).getAsLong();
            most = Math.max(most, used);
        }
        Check.between(10L * ARRAY, most, 512L << 20, "the fullest that the heap was seen");
    }

    /**
     * Asserts that the event is within the program's own measurement and has this length or more.
     */
    private static void within(Run run, String what, int number, Mark mark, double least) {
        MeasuredPeriod.holds(run, what + number, mark);
        Check.atLeast(least, mark.ms(), "length of " + mark);
    }

    private static void collections(Run run, Profile profile) {
        List<Mark> asked = profile.marks("gc_pause", "reason", "System.gc()");
        Check.equal(COLLECTIONS, asked.size(), "collections that the program asked for");
        for (int i = 0; i < COLLECTIONS; i++) {
            within(run, "gc", i, asked.get(i), 0.001);
        }
    }

    private static void locks(Run run, Profile profile) {
        List<Mark> locks = profile.marks("monitor_enter", "class", "AllEventKinds$Lock");
        Check.equal(LOCKS, locks.size(), "times that a thread waited for the lock");
        for (int i = 0; i < LOCKS; i++) {
            Mark lock = locks.get(i);
            within(run, lock.track.name, 0, lock, 20);
            Check.that(lock.has("AllEventKinds$Program.want"), "where it waited: " + lock.stack.functions());
            if (Vm.major() >= 17) {
                Check.equal("main", lock.text("owner"), "who held it");
            }
        }
    }

    private static void waits(Run run, Profile profile) {
        List<Mark> waits = profile.marks("monitor_wait", "class", "AllEventKinds$Lock");
        Check.equal(WAITS, waits.size(), "waits of the program");
        for (int i = 0; i < WAITS; i++) {
            within(run, "wait", i, waits.get(i), 30 - TICK_MS);
            Check.equal(30_000_000L, waits.get(i).number("timeout"), "timeout, in ns");
            Check.equal(1, waits.get(i).number("timed_out"), "it timed out");
            Check.that(waits.get(i).has("AllEventKinds$Program.await"), "where it waited: " + waits.get(i).stack.functions());
        }
    }

    private static void exceptions(Profile profile) {
        List<Mark> thrown = profile.marks("exception", "class", "AllEventKinds$Oops");
        Check.equal(THROWN, thrown.size(), "exceptions of the program's class");
        for (Mark mark : thrown) {
            Check.that(mark.has("AllEventKinds$Program.thrower"), "where it was thrown: " + mark.stack.functions());
        }
    }

    /**
     * Asserts that the samples' weights add up to what was allocated. The tolerance is the chance
     * error that follows from the weights.
     */
    private static void allocations(Profile profile) {
        double stands = 0;
        double squares = 0;
        int met = 0;
        for (int track = 0; track < profile.tracks.size(); track++) {
            JsonObject table = profile.json.getAsJsonArray("threads").get(track).getAsJsonObject().getAsJsonObject("jsAllocations");
            for (int row = 0; table != null && row < table.get("length").getAsInt(); row++) {
                boolean theirs = !table.getAsJsonArray("stack").get(row).isJsonNull()
                    && profile.stack(table.getAsJsonArray("stack").get(row).getAsInt()).has("AllEventKinds$Program.allocate");
                if (theirs) {
                    Check.equal("byte[]", table.getAsJsonArray("className").get(row).getAsString(), "what was allocated there");
                    double weight = table.getAsJsonArray("weight").get(row).getAsDouble();
                    stands += weight;
                    squares += weight * weight;
                    met++;
                }
            }
        }
        Check.atLeast(30, met, "arrays that were met");
        double header = 16;
        Check.near(ARRAYS * (ARRAY + header), stands, Check.FAR * Math.sqrt(squares), "bytes that they stand for");
    }

    private static void byDefault(Run run) {
        JsonObject events = run.report().json.getAsJsonObject("events");
        Check.equal("[gc, monitor]", events.keySet().toString(), "what is recorded by default");
        Check.equal(COLLECTIONS, run.profile().marks("gc_pause", "reason", "System.gc()").size(), "collections");
        Check.equal(LOCKS, run.profile().marks("monitor_enter", "class", "AllEventKinds$Lock").size(), "locks");
        Check.empty(run.profile().marks("monitor_wait"), "waits that nobody asked for");
        long longest = events.getAsJsonObject("monitor").get("longest_ms").getAsLong();
        Check.that(run.vouchLines().stream().anyMatch(line -> line.contains("meanwhile ") && line.contains("threads waited ")),
            "the summary tells of locks of " + longest + " ms: " + run.vouchLines());
    }

    private static void off() {
        Run run = start("events=off", COLLECTIONS_ALONE).waitFor().ok();
        Check.equal(0, run.report().json.getAsJsonObject("events").size(), "kinds that are recorded");
        Check.equal(0, run.profile().json.getAsJsonArray("counters").size(), "counters");
        Check.empty(run.profile().marks("gc_pause"), "collections that nobody asked for");
    }

    static class Lock {
    }

    static class Oops extends Exception {
    }

    static class Fresh {
        static int value = 1;
    }

    static class Program {
        private static final Lock LOCK = new Lock();
        static Object kept;

        public static void main(String[] args) throws Exception {
            Burn.millis(100);
            for (int i = 0; i < 200_000; i++) {
                kept = hot(i);
            }
            for (int i = 0; i < COLLECTIONS; i++) {
                long begin = System.nanoTime();
                System.gc();
                MeasuredPeriod.said("gc" + i, begin);
            }
            if (Arrays.asList(args).contains(COLLECTIONS_ALONE)) {
                return;
            }
            for (int i = 0; i < LOCKS; i++) {
                contend("wanter-" + i);
            }
            for (int i = 0; i < WAITS; i++) {
                await("wait" + i);
            }
            for (int i = 0; i < THROWN; i++) {
                try {
                    thrower();
                } catch (Oops oops) {
                    kept = oops;
                }
            }
            if (!Arrays.asList(args).contains(IN_HASTE)) {
                // The limit of shown events is for each second. This begins a second without the
                // JVM's own events.
                Thread.sleep(1_100);
            }
            load();
            for (int i = 0; i < ARRAYS; i++) {
                allocate();
            }
        }

        static Integer hot(int i) {
            return i * 31 + 7;
        }

        /**
         * Holds the lock until the other thread has waited for long. The JVM may report its wait
         * late.
         */
        private static void contend(String name) throws InterruptedException {
            Thread wanter;
            synchronized (LOCK) {
                wanter = new Thread(() -> want(name + "0"), name);
                wanter.start();
                while (wanter.getState() != Thread.State.BLOCKED) {
                    Thread.yield();
                }
                long until = System.nanoTime() + 300_000_000;
                while (System.nanoTime() < until) {
                    Thread.sleep(1);
                }
            }
            wanter.join();
        }

        static void want(String what) {
            long begin = System.nanoTime();
            synchronized (LOCK) {
                MeasuredPeriod.said(what, begin);
            }
        }

        static void await(String what) throws InterruptedException {
            synchronized (LOCK) {
                long begin = System.nanoTime();
                LOCK.wait(30);
                MeasuredPeriod.said(what, begin);
            }
        }

        static void thrower() throws Oops {
            throw new Oops();
        }

        static void load() {
            kept = Fresh.value;
        }

        static void allocate() {
            kept = new byte[ARRAY];
        }
    }
}
