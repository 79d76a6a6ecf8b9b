/*
 * A program emits its own JFR events while JFR and Vouch record it. The events are merged into the
 * profile when it is written, or later by `vouch merge`. They must have the times, threads and
 * values that the program knows. A damaged recording must give an error, never a crash.
 *
 * @test id=clocks
 * @summary Flight Recorder's events in a profile, on one clock
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=300 FlightRecorderMerge clocks
 */

/*
 * @test id=damaged
 * @summary recordings that are damaged
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=300 FlightRecorderMerge damaged
 */

import java.nio.file.Files;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Mark;
import dev.vouch.test.Profile;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Scale;
import dev.vouch.test.Skip;
import dev.vouch.test.Tool;
import dev.vouch.test.Vm;
import jdk.jfr.DataAmount;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;

public class FlightRecorderMerge {
    private static final int COLLECTIONS = 12;
    private static final int ORDERS = 250;
    private static final int DAMAGED = Scale.pick(20, 60);
    private static final String KIND = "jfr.shop.Order";
    private static final String WHOSE = "[JFR's stack, not checked]";
    /** The file has times in whole microseconds. */
    private static final double ROUNDED_MS = 0.001;

    public static void main(String[] args) throws Exception {
        try {
            Class.forName("jdk.jfr.Event");
        } catch (ClassNotFoundException none) {
            Skip.unless(false, "this JDK has no Flight Recorder");
        }
        if (args[0].equals("damaged")) {
            damaged(start(Program.class, "").waitFor().ok().dir);
            return;
        }
        Run run = start(Program.class, "jfr=app.jfr").waitFor().ok();
        // This program sleeps nearly all the time, so it runs beside the checks.
        try (Running unhurried = start(Unhurried.class, "jfr=app.jfr,events=wait")) {
            catalogue(run.dir);
            orders(run.profile());
            pauses(run.profile());
            Check.that(run.vouchLines().stream().anyMatch(line -> line.contains("jfr: app.jfr: ") && line.contains("times within ±")),
                "the summary tells of the recording: " + run.vouchLines());
            withoutCollections(unhurried.waitFor().ok());
        }
        run = start(Program.class, "events=default").waitFor().ok();
        Check.empty(run.profile().marks(KIND), "events that nobody asked for");
        String said = merged(run.dir, 0, "profile.json", "app.jfr");
        Check.contains(said, "shop.Order", "what vouch merge says");
        Profile profile = Profile.read(run.dir.resolve("profile.merged.json"));
        orders(profile);
        pauses(profile);
        Check.equal(run.profile().weight(), profile.weight(), "weight of all samples, before and after");
        Check.equal(run.profile().meta.get("vouch").toString(), profile.meta.get("vouch").toString(), "the trust report in it");
        Check.contains(merged(run.dir, 1, "profile.merged.json", "app.jfr"), "in the profile already", "a second time");
        merged(run.dir, 0, "profile.json", "app.jfr", "--events", "shop.*", "--out", "some.json");
        JsonObject told = Profile.read(run.dir.resolve("some.json")).meta.getAsJsonArray("vouchMerged").get(0).getAsJsonObject();
        Check.equal(1, told.getAsJsonArray("kinds").size(), "kinds that were asked for");

        stranger(run.dir);
        cut(run.dir);
    }

    /**
     * If the catalogue was made from this JDK build, it must agree with this recording on all kinds
     * of events.
     */
    private static void catalogue(Path dir) throws Exception {
        String said = Tool.vouch(dir, Arrays.asList("events", "--of", "app.jfr")).text;
        Check.contains(said, "shop.Order", "the kinds of a recording");
        Check.contains(said, "500  shop.Order", "how many orders there were");
        boolean known = !said.contains("which the catalogue was not made of");
        System.out.println("the catalogue " + (known ? "was" : "was not") + " made of this build of the JDK");
        Check.that(!known || said.contains("all its kinds are as the catalogue has them"), said);
        Check.contains(Tool.vouch(dir, Arrays.asList("events", "GCPhasePause")).text, "The program was stopped for a collection", "one kind");
    }

    /** A duplicate chunk counts once, and a truncated file gives a warning about its counts. */
    private static void cut(Path dir) throws Exception {
        byte[] whole = Files.readAllBytes(dir.resolve("app.jfr"));
        Files.write(dir.resolve("twice.jfr"), ByteBuffer.allocate(2 * whole.length).put(whole).put(whole).array());
        String said = Tool.vouch(dir, Arrays.asList("events", "--of", "twice.jfr")).text;
        Check.contains(said, "  500  shop.Order", "a chunk that is there twice counts once");
        Check.that(!said.contains("some events are not counted"), "and nothing is lacking: " + said);
        Files.write(dir.resolve("cut.jfr"), Arrays.copyOf(whole, whole.length / 2));
        said = Tool.vouch(dir, Arrays.asList("events", "--of", "cut.jfr")).text;
        Check.that(said.contains("some events are not counted") || said.startsWith("vouch: cut.jfr cannot be read: "), "what is said of one that is cut: " + said);
    }

    /**
     * Without garbage collections, the waits of the agent's own thread relate the two clocks. These
     * waits must not appear in the profile.
     */
    private static void withoutCollections(Run run) {
        Profile profile = run.profile();
        orders(profile);
        Check.equal(0L, clock(profile).get("pauses").getAsLong(), "pauses that relate the clocks");
        System.out.println("the clocks: " + clock(profile));
        Check.atLeast(1, clock(profile).get("waits").getAsLong(), "waits that relate the clocks");
        Check.that(profile.tracks.stream().noneMatch(track -> track.name.equals("Vouch")), "no track of Vouch's own");
        // Each event that is counted but not shown took less than a millisecond.
        JsonObject told = run.report().json.getAsJsonObject("events").getAsJsonObject("wait");
        List<Mark> shown = profile.marks("monitor_wait");
        double unseen = told.get("count").getAsLong() - shown.size();
        double took = shown.stream().mapToDouble(Mark::ms).sum();
        Check.atMost(took + 0.01 * shown.size() + unseen, told.get("took_ms").getAsDouble(), "what the program's waits took, in ms");
    }

    private static Running start(Class<?> program, String options) {
        return Vm.with(options).collector("-XX:+UseSerialGC").flags("-Xmx256m", "-XX:StartFlightRecording=filename=app.jfr").start(program);
    }

    private static JsonObject clock(Profile profile) {
        return profile.meta.getAsJsonArray("vouchMerged").get(0).getAsJsonObject().getAsJsonObject("clock");
    }

    private static void orders(Profile profile) {
        List<Mark> orders = profile.marks(KIND);
        Check.equal(2 * ORDERS, orders.size(), "orders");
        double uncertainty = clock(profile).get("uncertainty_ns").getAsDouble() / 1e6 + ROUNDED_MS;
        List<Double> early = new ArrayList<>();
        List<Double> late = new ArrayList<>();
        int[] of = new int[2];
        for (Mark order : orders) {
            String user = order.text("user");
            Check.equal(user.equals("moe") ? "main" : "waiter", order.track.name, "whose order it is");
            of[user.equals("moe") ? 0 : 1]++;
            Check.equal("Order", order.name, "name");
            Check.equal("byte[]", order.text("kind"), "a class, in words");
            Check.that(order.has("FlightRecorderMerge$Program.order"), "where it was: " + order.stack.functions());
            Check.equal(WHOSE, order.stack.root().function, "whose stack it is");
            // The event begins before the program's own measurement and ends after it, within the
            // uncertainty that the report states.
            early.add(order.number("began") / 1e6 - order.startMs);
            late.add(order.endMs - order.number("ended") / 1e6);
        }
        Check.equal(ORDERS, of[0], "orders of the main thread");
        Check.equal(ORDERS, of[1], "orders of the waiter");
        for (List<Double> times : Arrays.asList(early, late)) {
            Collections.sort(times);
            Check.atLeast(-uncertainty, times.get(0), "the least that an event reaches around what it is of, in ms");
            // A thread may lose its processor between two readings of the clock, but half of all
            // readings are undisturbed.
            Check.atMost(uncertainty + 0.05, times.get(times.size() / 2), "how much most reach around, in ms");
        }
        JsonObject schema = null;
        for (JsonElement known : profile.meta.getAsJsonArray("markerSchema")) {
            schema = known.getAsJsonObject().get("name").getAsString().equals(KIND) ? known.getAsJsonObject() : schema;
        }
        Check.that(schema != null, "the front-end is told of orders");
        String fields = schema.getAsJsonArray("fields").toString();
        Check.contains(fields, "{\"format\":\"bytes\",\"key\":\"size\",\"label\":\"What it weighs\"}", "labels and units");
    }

    /** Pauses that both JFR and Vouch recorded agree within the uncertainty. */
    private static void pauses(Profile profile) {
        List<Mark> seen = profile.marks("gc_pause");
        List<Mark> recorded = profile.marks("jfr.jdk.GCPhasePause");
        Check.atLeast(COLLECTIONS, recorded.size(), "pauses that JFR saw");
        Check.atLeast(COLLECTIONS, clock(profile).get("pauses").getAsLong(), "pauses that relate the clocks");
        double uncertainty = clock(profile).get("uncertainty_ns").getAsDouble() / 1e6 + 2 * ROUNDED_MS;
        // Among this many pauses some are undisturbed. The agent's own waits are few, and any of
        // them may lose its processor between two readings. `cargo xtask page jfr-clock` measures
        // how much uncertainty they cause.
        Check.atMost(1, uncertainty, "uncertainty of times, in ms");
        for (Mark pause : recorded) {
            Check.that(seen.stream().anyMatch(other -> other.startMs <= pause.startMs + uncertainty
                && pause.endMs <= other.endMs + uncertainty && other.ms() >= pause.ms() - 2 * ROUNDED_MS),
                pause + " is one that JVMTI told of");
        }
    }

    /** Merges the recording of one run into the profile of another. */
    private static void stranger(Path dir) throws Exception {
        Run other = Vm.with("").flags("-Xmx64m").run(Short.class).ok();
        // This recording ended before the other process started, so it adds nothing to that
        // profile.
        String said = merged(other.dir, 1, "profile.json", dir.resolve("app.jfr").toString());
        Check.contains(said, "adds nothing to profile.json, and no file was written", "what a recording of another run adds");
        Check.contains(said, "are before or after the profile", "the reason");
        Check.that(said.contains("from another process") || Vm.major() < 17, "the message says that the recording is another process's: " + said);
        Check.that(!Files.exists(other.dir.resolve("profile.merged.json")), "no file is written");
    }

    private static void damaged(Path dir) throws Exception {
        byte[] whole = Files.readAllBytes(dir.resolve("app.jfr"));
        Path bad = dir.resolve("bad.jfr");
        Files.write(bad, new byte[0]);
        Check.contains(merged(dir, 1, "profile.json", "bad.jfr"), "it is empty", "an empty file");
        Check.contains(merged(dir, 1, "profile.json", "report.json"), "report.json is not a profile", "another file");
        Check.contains(merged(dir, 1, "profile.json", "profile.json"), "is named twice", "the same file");
        Check.contains(merged(dir, 1, "app.jfr", "app.jfr"), "belongs to the profile of one process", "no profile");
        Check.contains(merged(dir, 1, "profile.json", "no.jfr"), "no.jfr cannot be read", "no file");
        Check.contains(merged(dir, 1, "profile.json", "app.jfr", "--events", "shop.Ordr"), "shop.Order", "a slip of the pen");
        Check.contains(merged(dir, 1, "profile.json", "app.jfr", "--out", "no/x.json"), "create it first", "no folder");
        Random random = new Random(1);
        int read = 0;
        for (int i = 0; i < DAMAGED; i++) {
            byte[] bytes = i % 3 == 0 ? Arrays.copyOf(whole, random.nextInt(whole.length)) : whole.clone();
            for (int flips = i % 3; flips > 0; flips--) {
                bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
            }
            Files.write(bad, bytes);
            read += Tool.vouch(dir, Arrays.asList("merge", "profile.json", "bad.jfr", "--out", "bad.json")).exit == 0 ? 1 : 0;
        }
        System.out.println(read + " of " + DAMAGED + " damaged recordings gave something");
        Check.atLeast(1, read, "damaged recordings that gave something");
        Check.atMost(DAMAGED - 1, read, "damaged recordings that gave something");
    }

    private static String merged(Path dir, int exit, String... arguments) throws Exception {
        List<String> all = new ArrayList<>(Arrays.asList("merge"));
        all.addAll(Arrays.asList(arguments));
        Tool told = Tool.vouch(dir, all);
        Check.equal(exit, told.exit, "exit code of vouch " + all + ": " + told.text);
        return told.text;
    }

    @Name("shop.Order")
    @Label("Order")
    static class Order extends Event {
        String user;
        @Label("What it weighs")
        @DataAmount
        long size;
        Class<?> kind = byte[].class;
        long began;
        long ended;
    }

    static class Short {
        public static void main(String[] args) {
            Burn.millis(100);
        }
    }

    static class Unhurried {
        public static void main(String[] args) throws InterruptedException {
            Thread waiter = new Thread(() -> orders("larry"), "waiter");
            waiter.start();
            orders("moe");
            while (waiter.isAlive()) {
                Thread.sleep(1);
            }
        }

        private static void orders(String user) {
            for (int i = 0; i < ORDERS; i++) {
                Program.order(user, i);
                LockSupport.parkNanos(4_000_000);
            }
        }
    }

    static class Program {
        public static void main(String[] args) throws InterruptedException {
            Thread waiter = new Thread(() -> orders("larry"), "waiter");
            waiter.start();
            orders("moe");
            waiter.join();
        }

        private static void orders(String user) {
            for (int i = 0; i < ORDERS; i++) {
                order(user, i);
                if (user.equals("moe") && i % (ORDERS / COLLECTIONS) == 0) {
                    System.gc();
                }
            }
        }

        static void order(String user, int number) {
            Order order = new Order();
            order.user = user;
            order.size = number;
            order.begin();
            order.began = System.nanoTime();
            long until = order.began + 300_000;
            while (System.nanoTime() < until) {
                Thread.yield();
            }
            order.ended = System.nanoTime();
            order.commit();
        }
    }
}
