/*
 * With `native=on` a stack must show what runs inside of native methods and of the JVM's own
 * threads. The program has two parts of equal CPU time: one thread compresses, which is native work
 * of zlib's alone, and one runs Java alone. Collectors and the C2 compiler work meanwhile.
 *
 * @test
 * @summary native=on: functions of zlib, of a collector and of C2 have their share
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main NativeFrames
 */

import java.util.function.Predicate;
import java.util.zip.Deflater;

import com.google.gson.JsonObject;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.FixedWork;
import dev.vouch.test.Frame;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.Skip;
import dev.vouch.test.Track;
import dev.vouch.test.Vm;

public class NativeFrames {
    private static final String METHOD = "java.util.zip.Deflater.deflateBytesBytes";

    public static void main(String[] args) {
        Run run = Vm.with("interval=1ms,native=on").collector("-XX:+UseParallelGC")
            .flags("-Xmx128m", "-Xmn16m", "-XX:ParallelGCThreads=2", "-XX:-TieredCompilation", "-XX:CompileThreshold=200")
            .run(Program.class);
        Skip.ifEngineRefused(run);
        run.ok();

        // zlib is in libzip.so, or in the system's libz.so, which has no symbols as a rule.
        Track deflater = run.profile().track("deflater");
        Predicate<Sample> inZlib = sample -> {
            Frame leaf = sample.leaf();
            return leaf.function.startsWith("libz") && leaf.category.equals("Native") && sample.has(METHOD) && !leaf.java;
        };
        Check.atLeast(0.8, share(deflater, inZlib), "share of zlib in the thread that compresses");
        boolean named = deflater.samples.stream().anyMatch(sample -> sample.has("libzip.so!deflate_slow"));
        if (named) {
            Predicate<Sample> slow = sample -> sample.has("libzip.so!deflate_slow") && sample.has(METHOD);
            Check.atLeast(0.8, share(deflater, slow), "share of deflate_slow in the thread that compresses");
        } else {
            Check.that(Vm.major() < 25, "the zlib of this JDK has symbols");
        }
        Predicate<Sample> inJava = sample -> sample.leaf().java;
        Check.atLeast(0.8, share(run.profile().track("burner"), inJava), "share of Java in the thread that runs Java");

        ofVm(run, "(ParGC|GC) Thread#\\d.*", "GC", "libjvm.so!");
        ofVm(run, "C2 CompilerThread\\d+", "JIT compiler", "libjvm.so!Compile::Compile");

        JsonObject walks = run.report().json.getAsJsonObject("native_walks");
        double whole = walks.get("whole").getAsDouble();
        double broken = walks.get("broken").getAsDouble() + walks.get("failed").getAsDouble();
        Check.atLeast(500, whole, "whole walks of native frames");
        // A library that has just been loaded is not known for some milliseconds.
        Check.atMost(0.01, broken / (whole + broken), "share of broken walks");
        calls(run.report().json.getAsJsonObject("native_calls"));
    }

    /** Machine code must prove most calls between native frames, and refute none. */
    private static void calls(JsonObject calls) {
        double checked = calls.get("checked").getAsDouble();
        Check.atLeast(2_000, checked, "checked calls");
        Check.equal(0, calls.get("refuted").getAsInt(), "refuted calls of " + calls);
        Check.atMost(0.001, calls.get("unjudged").getAsDouble() / checked, "share of calls that are not judged");
        Check.atLeast(0.4, calls.get("proven").getAsDouble() / checked, "share of proven calls of " + calls);
        Check.that(calls.get("distinct").getAsDouble() < checked / 2, "each call is judged once: " + calls);
    }

    /** The samples of the VM's threads of a kind must have its category, and such a function. */
    private static void ofVm(Run run, String name, String kind, String function) {
        long samples = 0;
        long with = 0;
        for (Track track : run.profile().tracks) {
            if (track.name.matches(name)) {
                for (Sample sample : track.samples) {
                    samples += sample.weight;
                    Check.equal("[" + kind + "]", sample.root().function, "root of " + sample);
                    Check.equal(kind, sample.leaf().subcategory, "subcategory of " + sample);
                    if (sample.functions().stream().anyMatch(it -> it.startsWith(function))) {
                        with += sample.weight;
                    }
                }
            }
        }
        Check.atLeast(50, samples, "samples of " + name);
        Check.atLeast(0.8 * samples, with, "samples of " + name + " with " + function);
    }

    private static double share(Track track, Predicate<Sample> wanted) {
        Check.atLeast(500, track.weight(), "samples of " + track.name);
        long with = track.samples.stream().filter(wanted).mapToLong(sample -> sample.weight).sum();
        return (double) with / track.weight();
    }

    static class Program {
        private static final Object[] KEPT = new Object[200_000];
        private static volatile Object sink;

        public static void main(String[] args) throws InterruptedException {
            Thread deflater = new Thread(Program::deflate, "deflater");
            Thread burner = new Thread(Program::burn, "burner");
            deflater.start();
            burner.start();
            deflater.join();
            burner.join();
            FixedWork fixedWork = new FixedWork(250, 1);
            for (int at = 0; at % 1_000 != 0 || fixedWork.isOn(); at++) {
                // Surviving objects give the collector work.
                KEPT[at % KEPT.length] = new Object[] {new long[20], at};
            }
            sink = KEPT;
        }

        private static void deflate() {
            byte[] text = new byte[1 << 16];
            for (int at = 0; at < text.length; at++) {
                text[at] = (byte) ("abcdef".charAt((int) (Integer.toUnsignedLong(at * 0x9e3779b9) >>> 28) % 6));
            }
            byte[] packed = new byte[1 << 17];
            Deflater deflater = new Deflater(9);
            FixedWork fixedWork = new FixedWork(1_500, 10);
            while (fixedWork.isOn()) {
                deflater.reset();
                deflater.setInput(text);
                deflater.finish();
                Burn.sink += deflater.deflate(packed);
            }
            deflater.end();
        }

        private static void burn() {
            FixedWork fixedWork = new FixedWork(1_500, 1);
            while (fixedWork.isOn()) {
                Burn.sink += Burn.work(200_000);
            }
        }
    }
}
