/*
 * Virtual threads park again and again, and each works in its own method: named ones, one with a
 * name that is not Latin, one that is renamed, and many without a name. On its carrier's track each
 * sample must name its virtual thread. With vthreads=own each thread must have a track with its own
 * work and no other.
 *
 * @test
 * @summary Each sample says which virtual thread it is of, by name and id
 * @requires jdk.version.major >= 21
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/othervm -Dfile.encoding=UTF-8 VirtualNames
 */

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.Track;
import dev.vouch.test.Vm;

public class VirtualNames {
    private static final String LATIN = "worker-1";
    private static final String WIDE = "\u8077\u5de5-1";
    private static final String UNNAMED = "[unnamed]";
    private static final String[] METHODS = {"latin", "wide", "renamed", "unnamed"};

    public static void main(String[] args) {
        onCarriers();
        onTheirOwn();
    }

    private static void onCarriers() {
        Run run = Vm.with("interval=1ms").run(Program.class).ok();
        Check.atLeast(10 * Program.ROUNDS, run.number("parked"), "times that a virtual thread parked");
        long[] weights = new long[METHODS.length];
        Set<String> ids = new HashSet<>();
        long unknown = 0;
        for (Sample sample : run.profile().samples()) {
            int method = method(sample);
            if (method < 0) {
                continue;
            }
            String name = sample.says("name");
            boolean isUnknown = name == null || name.equals("[unknown]");
            if (isUnknown && Vm.major() < 24 && sample.has("java.lang.VirtualThread.parkNanos")) {
                // Here the JDK itself runs on the carrier for a while.
                continue;
            }
            weights[method] += sample.weight;
            if (isUnknown) {
                unknown += sample.weight;
            } else if (!isOf(method, name)) {
                throw new AssertionError("work of " + METHODS[method] + " under the name " + name + ": " + sample);
            } else if (name.equals(UNNAMED)) {
                ids.add(sample.says("id"));
            }
        }
        long all = 0;
        for (int method = 0; method < METHODS.length; method++) {
            Check.atLeast(50L, weights[method], "weight of " + METHODS[method]);
            all += weights[method];
        }
        Check.equal(Program.UNNAMED, ids.size(), "virtual threads without a name");
        Check.atMost(0.01 * all, unknown, "weight of samples that do not say whose they are");
        JsonObject kind = null;
        for (JsonElement each : run.report().json.getAsJsonObject("contexts").getAsJsonArray("kinds")) {
            kind = each.getAsJsonObject();
            Check.equal("java.lang.VirtualThread", kind.get("class").getAsString(), "what nobody has named");
        }
        Check.atLeast(0.99 * all, kind.get("cpu_ms").getAsDouble(), "time on virtual threads in the report, in ms");
    }

    private static void onTheirOwn() {
        Run run = Vm.with("interval=1ms,vthreads=own").run(Program.class).ok();
        long[] weights = new long[METHODS.length];
        long elsewhere = 0;
        int unnamed = 0;
        for (Track track : run.profile().tracks) {
            boolean isVirtual = track.tid.startsWith("virtual-");
            unnamed += isVirtual && track.name.startsWith("virtual thread ") ? 1 : 0;
            for (Sample sample : track.samples) {
                int method = method(sample);
                boolean isCarriers = Vm.major() < 24 && sample.has("java.lang.VirtualThread.parkNanos");
                if (method < 0 || !isVirtual && isCarriers) {
                    continue;
                } else if (!isVirtual) {
                    elsewhere += sample.weight;
                } else if (isOf(method, track.name)) {
                    weights[method] += sample.weight;
                } else {
                    throw new AssertionError("work of " + METHODS[method] + " on " + track + ": " + sample);
                }
            }
        }
        long all = elsewhere;
        for (int method = 0; method < METHODS.length; method++) {
            Check.atLeast(50L, weights[method], "weight of " + METHODS[method] + " on tracks of their own");
            all += weights[method];
        }
        Check.equal(Program.UNNAMED, unnamed, "tracks of virtual threads without a name");
        Check.atMost(0.01 * all, elsewhere, "weight of virtual threads' work that is on no track of theirs");
        // Samples on a separate track count for the thread in which they were taken.
        run.report().checkSum();
    }

    /** The number of the thread that a sample belongs to; -1 for none. */
    private static int method(Sample sample) {
        for (int method = 0; method < METHODS.length; method++) {
            if (sample.has("VirtualNames$Program." + METHODS[method])) {
                return method;
            }
        }
        return -1;
    }

    private static boolean isOf(int method, String name) {
        switch (method) {
            case 0: return name.equals(LATIN);
            case 1: return name.equals(WIDE);
            case 2: return name.equals("before") || name.equals("after");
            default: return name.equals(UNNAMED) || name.startsWith("virtual thread ");
        }
    }

    static class Program {
        static final int UNNAMED = 10;
        static final int ROUNDS = 30;
        private static final int STEPS = 4_000_000;
        private static int parks;

        public static void main(String[] args) throws Exception {
            List<Thread> threads = new ArrayList<>();
            threads.add(Thread.ofVirtual().name(LATIN).start(Program::latin));
            threads.add(Thread.ofVirtual().name(WIDE).start(Program::wide));
            threads.add(Thread.ofVirtual().name("before").start(Program::renamed));
            for (int n = 0; n < UNNAMED; n++) {
                threads.add(Thread.ofVirtual().start(Program::unnamed));
            }
            for (Thread thread : threads) {
                thread.join();
            }
            System.out.println("parked=" + parks);
        }

        private static void latin() {
            for (int round = 0; round < ROUNDS; round++) {
                Burn.sink += Burn.work(STEPS);
                park();
            }
        }

        private static void wide() {
            for (int round = 0; round < ROUNDS; round++) {
                Burn.sink += Burn.work(STEPS);
                park();
            }
        }

        private static void renamed() {
            for (int round = 0; round < ROUNDS; round++) {
                if (round == ROUNDS / 2) {
                    Thread.currentThread().setName("after");
                }
                Burn.sink += Burn.work(STEPS);
                park();
            }
        }

        private static void unnamed() {
            for (int round = 0; round < ROUNDS; round++) {
                Burn.sink += Burn.work(STEPS / 4);
                park();
            }
        }

        private static void park() {
            try {
                Thread.sleep(1);
                synchronized (Program.class) {
                    parks++;
                }
            } catch (InterruptedException error) {
                throw new AssertionError(error);
            }
        }
    }
}
