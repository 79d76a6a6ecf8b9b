/*
 * A program keeps known numbers of large arrays, and drops others. Each array is larger than the
 * distance between two sampled objects, so nearly every one is sampled. Another program leaks one
 * hundredth of 200 MB that it allocates in a second, and that hundredth must be found.
 *
 * @test
 * @summary live bytes by class are within 5 % in each view, and a leak is found
 * @key newest lts waits
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=240 LiveBytes
 */

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import com.google.gson.JsonObject;

import dev.vouch.test.Check;
import dev.vouch.test.MeasureViews;
import dev.vouch.test.Run;
import dev.vouch.test.Skip;
import dev.vouch.test.Vm;

public class LiveBytes {
    private static final double NEAR = 0.05;
    private static final int BYTES = 4 << 20;
    private static final int KEPT = 60;
    private static final int DROPPED = 100;
    private static final int LEAK_SECONDS = 25;
    /** A faster leak would have fewer samples, since these are limited in each second. */
    private static final long TICK_MS = 10;
    private static final int LEAKED_IN_A_SECOND = 2 << 20;

    public static void main(String[] args) throws Exception {
        Skip.unless(Vm.major() >= 11, "this JDK does not report allocations");
        String options = "events=alloc,measure=live,out=a.folded,out=a.html,out=a.pb.gz";
        Run run = Vm.with(options).collector("-XX:+UseSerialGC").flags("-Xmx900m").run(Program.class).ok();
        MeasureViews views = new MeasureViews(run, "live", "bytes", 1);
        views.check("int[]", (double) KEPT * BYTES, NEAR);
        Map<String, Double> live = views.top("profile.json", "live");
        Check.atMost(0.01 * KEPT * BYTES, live.getOrDefault("long[]", 0.0), "bytes of arrays that were dropped");
        Check.atMost(0.01 * KEPT * BYTES, live.getOrDefault("short[]", 0.0), "bytes of arrays that survived no collection");
        JsonObject report = run.report().json.getAsJsonObject("live_objects");
        Check.atLeast(KEPT + DROPPED, report.get("tracked").getAsLong(), "tracked objects");
        Check.atLeast(2, report.get("collections").getAsLong(), "collections");
        leak();
    }

    private static void leak() throws Exception {
        Run run = Vm.with("events=alloc").flags("-Xmx400m").run(Leak.class).ok();
        Map<String, Double> live = new MeasureViews(run, "live", "bytes", 1).top("profile.json", "live");
        System.out.println("live bytes beside a leak: " + live);
        double leaked = (double) LEAK_SECONDS * LEAKED_IN_A_SECOND;
        double found = live.getOrDefault("long[]", 0.0);
        double others = live.values().stream().mapToDouble(Double::doubleValue).sum() - found;
        Check.near(leaked, found, 0.5 * leaked, "leaked bytes");
        Check.that(others < found / 2, "the leak is the most of what is alive: " + found + " beside " + others);
    }

    static class Program {
        static final List<Object> KEEPS = new ArrayList<>();
        static List<Object> drops = new ArrayList<>();

        public static void main(String[] args) throws InterruptedException {
            for (int i = 0; i < DROPPED; i++) {
                if (i < KEPT) {
                    KEEPS.add(new int[BYTES / Integer.BYTES]);
                }
                drops.add(new long[BYTES / Long.BYTES]);
                Thread.sleep(12);
            }
            System.gc();
            drops = null;
            System.gc();
            for (int i = 0; i < 10; i++) {
                KEEPS.add(new short[BYTES / Short.BYTES]);
            }
        }
    }

    static class Leak {
        static final List<long[]> LEAKS = new ArrayList<>();
        static byte[] garbage;

        public static void main(String[] args) throws InterruptedException {
            long began = System.nanoTime();
            for (int tick = 0; tick < 100 * LEAK_SECONDS; tick++) {
                for (int i = 0; i < LEAKED_IN_A_SECOND / 100 / 1024; i++) {
                    LEAKS.add(new long[1024 / Long.BYTES]);
                }
                for (int i = 0; i < 2000; i++) {
                    garbage = new byte[1024];
                }
                while (System.nanoTime() - began < tick * TICK_MS * 1_000_000) {
                    Thread.sleep(1);
                }
            }
        }
    }
}
