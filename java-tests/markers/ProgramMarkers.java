/*
 * A program emits markers, and each must be in the profile as it was emitted. It is on its thread,
 * at its times, with its fields in their units, and with a stack if requested. A mistake in a
 * marker neither harms the program nor appears in the profile. If a kind is too frequent, only a
 * part is shown, but all are counted.
 *
 * @test
 * @summary a program's markers are shown as it emitted them, and mistakes in them do no harm
 * @key newest
 * @library /lib /api/src
 * @build dev.vouch.test.* dev.vouch.Vouch
 * @run main/timeout=200 ProgramMarkers
 */

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

import dev.vouch.Label;
import dev.vouch.Marker;
import dev.vouch.Unit;
import dev.vouch.Vouch;
import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Mark;
import dev.vouch.test.Profile;
import dev.vouch.test.Run;
import dev.vouch.test.Vm;

public class ProgramMarkers {
    private static final int JOBS = 50;
    private static final int BURST = 20_000;
    /** How many markers of one kind are shown in a second. */
    private static final int SHOWN = 1_000;

    public static void main(String[] args) {
        Run run = Vm.with("interval=1ms").run(Program.class).ok();
        Profile profile = run.profile();
        jobs(run, profile);
        shapes(profile);
        stacks(profile);
        mistakes(profile);
        JsonObject burst = counted(run, "Burst");
        Check.equal((long) BURST, burst.get("count").getAsLong(), "markers of the burst");
        long shown = profile.marks(type("Burst")).size();
        Check.equal(shown, burst.get("shown").getAsLong(), "of which so many are shown");
        // The burst may span several seconds, and some markers of each second are shown.
        Check.that(shown >= Math.min(SHOWN, BURST) && shown < BURST, shown + " of " + BURST + " are shown");
        // The same program also runs without the agent.
        Vm.without().run(Program.class).ok();
    }

    private static String type(String kind) {
        return "marker:ProgramMarkers$" + kind;
    }

    private static JsonObject counted(Run run, String kind) {
        return run.report().json.getAsJsonObject("markers").getAsJsonObject("ProgramMarkers$" + kind);
    }

    /** Each job's marker contains its own times, and the profile must agree. */
    private static void jobs(Run run, Profile profile) {
        List<Mark> jobs = profile.marks(type("Job"));
        Check.equal(JOBS, jobs.size(), "jobs");
        Check.equal((long) JOBS, counted(run, "Job").get("count").getAsLong(), "jobs in the report");
        for (Mark job : jobs) {
            Check.equal("A job", job.name, "what it is called");
            Check.equal("worker", job.track.name, "track of " + job);
            // The file has times in microseconds with fractions.
            Check.that(Math.abs(job.startMs - job.number("began") / 1e6) < 0.001, "it began at another time: " + job);
            Check.that(Math.abs(job.endMs - job.number("ended") / 1e6) < 0.001, "it ended at another time: " + job);
            Check.that(job.stack == null, "nobody asked for a stack: " + job);
        }
    }

    private static void shapes(Profile profile) {
        Mark all = profile.marks(type("Shapes")).get(0);
        Check.equal("Zoë\uD83D\uDC11", all.text("text"), "a text");
        Check.equal(-7L, all.number("count"), "a number");
        Check.equal(4096L, all.number("bytes"), "bytes");
        Check.equal(1_500_000L, all.number("millis"), "a time in nanoseconds");
        Check.equal(2.5, all.data.get("ratio").getAsDouble(), "a fraction");
        Check.equal(0.25, all.data.get("full").getAsDouble(), "a percentage");
        Check.equal("true", all.text("type_"), "a field whose name is the front-end's");
        Check.equal("null", all.text("nothing"), "null");
        JsonObject schema = null;
        for (JsonElement one : profile.meta.getAsJsonArray("markerSchema")) {
            if (one.getAsJsonObject().get("name").getAsString().equals(type("Shapes"))) {
                schema = one.getAsJsonObject();
            }
        }
        Check.equal("All that there is. Bytes: On disk.", schema.get("description").getAsString(), "description");
        List<String> formats = new ArrayList<>();
        for (JsonElement field : schema.getAsJsonArray("fields")) {
            JsonObject one = field.getAsJsonObject();
            formats.add(one.get("label").getAsString() + " " + one.get("format").getAsString());
        }
        List<String> expected = Arrays.asList("text unique-string", "count integer", "Bytes bytes", "Took nanoseconds",
            "ratio decimal", "Full percentage", "type unique-string", "nothing unique-string");
        Check.equal(new HashSet<>(expected), new HashSet<>(formats), "fields and how they are read");
    }

    /** A requested stack is the caller's, at the moment of the marker. */
    private static void stacks(Profile profile) {
        List<Mark> stood = profile.marks("marker:java.lang.String");
        Set<String> where = new HashSet<>();
        for (Mark mark : stood) {
            Check.that(mark.stack != null, "it has no stack: " + mark);
            String leaf = mark.stack.leaf().function;
            Check.that(leaf.equals("ProgramMarkers$Program." + mark.text("value")), "the leaf of " + mark + " is " + leaf);
            Check.that(mark.stack.leaf().fate().equals("proven"), "its stack is " + mark.stack.leaf().subcategory);
            where.add(mark.text("value"));
        }
        Set<String> expected = new HashSet<>(Arrays.asList("outside", "inside"));
        if (Vm.major() >= 21) {
            expected.add("virtual");
        }
        Check.equal(expected, where, "places that were told");
    }

    private static void mistakes(Profile profile) {
        List<String> seen = new ArrayList<>();
        for (Mark mark : profile.marks(type("Mistake"))) {
            Check.that(mark.endMs >= mark.startMs, "it ends before it begins: " + mark);
            Check.that(mark.endMs <= profile.meta.get("profilingEndTime").getAsDouble() + 1, "it ends in the future: " + mark);
            seen.add(mark.text("text"));
        }
        Check.equal(Arrays.asList("ended before it began", "ends in the future", "in between", "long " + Program.times("x", 195) + "…"), sorted(seen), "mistakes that are shown");
        Mark wide = profile.marks(type("Wide")).get(0);
        Check.equal(8 + 1, wide.data.size(), "what a marker with ten fields says, with its type: " + wide);
        Check.equal("[]", profile.marks(type("Throws")).toString(), "markers of a class that throws");
    }

    private static List<String> sorted(List<String> texts) {
        List<String> sorted = new ArrayList<>(texts);
        sorted.sort(null);
        return sorted;
    }

    @Label("A job")
    static final class Job {
        @Label("began")
        private final long began;
        @Label("ended")
        private final long ended;

        Job(long began, long ended) {
            this.began = began;
            this.ended = ended;
        }
    }

    @Label(value = "Shapes", description = "All that there is.")
    static final class Shapes {
        @Label("text")
        private final String text = "Zoë\uD83D\uDC11";
        @Label("count")
        private final int count = -7;
        @Label(value = "Bytes", description = "On disk.", unit = Unit.BYTES)
        private final short bytes = 4096;
        @Label(value = "Took", unit = Unit.MILLISECONDS)
        private final double millis = 1.5;
        @Label("ratio")
        private final float ratio = 2.5f;
        @Label(value = "Full", unit = Unit.PERCENTAGE)
        private final double full = 0.25;
        @Label("type")
        private final boolean type = true;
        @Label("nothing")
        private final Object nothing = null;
    }

    static final class Mistake {
        @Label("text")
        private final String text;

        Mistake(String text) {
            this.text = text;
        }
    }

    static final class Wide {
        @Label("0")
        private final int zero = 0;
        @Label("1")
        private final int one = 1;
        @Label("2")
        private final int two = 2;
        @Label("3")
        private final int three = 3;
        @Label("4")
        private final int four = 4;
        @Label("5")
        private final int five = 5;
        @Label("6")
        private final int six = 6;
        @Label("7")
        private final int seven = 7;
        @Label("8")
        private final int eight = 8;
        @Label("9")
        private final int nine = 9;
    }

    static final class Throws {
        @Override
        public String toString() {
            throw new IllegalStateException("not now");
        }
    }

    static final class Burst {
        @Label("at")
        private final int at;

        Burst(int at) {
            this.at = at;
        }
    }

    static final class Program {
        private static final Marker<Job> JOB = Vouch.marker(Job.class);
        private static final Marker<Shapes> SHAPES = Vouch.marker(Shapes.class);
        private static final Marker<String> PLACE = Vouch.marker(String.class).withStack();
        private static final Marker<Mistake> MISTAKE = Vouch.marker(Mistake.class);
        private static final Marker<Wide> WIDE = Vouch.marker(Wide.class);
        private static final Marker<Throws> THROWS = Vouch.marker(Throws.class);
        private static final Marker<Burst> BURST_OF = Vouch.marker(Burst.class);

        public static void main(String[] args) throws Exception {
            Thread worker = new Thread(Program::jobs, "worker");
            worker.start();
            worker.join();
            SHAPES.commit(new Shapes());
            outside();
            if (Vm.major() >= 21) {
                Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
                ((Thread) start.invoke(null, (Runnable) Program::virtual)).join();
            }
            mistakes();
            for (int at = 0; at < BURST; at++) {
                BURST_OF.commit(new Burst(at));
            }
        }

        private static void jobs() {
            for (int job = 0; job < JOBS; job++) {
                long began = JOB.begin();
                Burn.millis(1);
                long ended = JOB.end();
                Burn.millis(1);
                JOB.commit(began, ended, new Job(began, ended));
            }
        }

        private static void outside() {
            inside();
            PLACE.commit("outside");
        }

        private static void inside() {
            PLACE.commit("inside");
        }

        private static void virtual() {
            PLACE.commit("virtual");
        }

        private static void mistakes() {
            long now = System.nanoTime();
            MISTAKE.commit(null);
            MISTAKE.commit(0, new Mistake("it has no begin"));
            MISTAKE.commit(now, 0, new Mistake("it has no end"));
            MISTAKE.commit(-5, -3, new Mistake("it was before there was time"));
            MISTAKE.commit(1, 2, new Mistake("it was before the recording"));
            MISTAKE.commit(now, now - 1_000, new Mistake("ended before it began"));
            MISTAKE.commit(now, now + 60_000_000_000L, new Mistake("ends in the future"));
            MISTAKE.commit(now, new Mistake("in between"));
            MISTAKE.commit(new Mistake("long " + times("x", 1_000)));
            WIDE.commit(new Wide());
            THROWS.commit(new Throws());
        }

        static String times(String text, int times) {
            StringBuilder all = new StringBuilder();
            for (int at = 0; at < times; at++) {
                all.append(text);
            }
            return all.toString();
        }
    }
}
