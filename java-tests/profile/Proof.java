/*
 * Checks what proof does to a profile. A program with right stacks has none refuted. With a walker
 * that drops a frame in one walk of five, the refuted stacks are separate from the true ones in
 * every view. Each has a marker with the reason, and all time is kept.
 *
 * @test
 * @summary refuted stacks are shown separately, counted, reported, and no time is lost
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=200 Proof
 */

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Frame;
import dev.vouch.test.Profile;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.Vm;

public class Proof {
    private static final String ROOT = "[refuted: ";

    public static void main(String[] args) throws IOException {
        sound();
        isolated();
        kept();
        dropped();
    }

    private static void sound() {
        Run run = Vm.with("").run(Program.class, "800").ok();
        Report report = run.report();
        long walked = report.walked();
        Check.atLeast(report.signalsIn(500), walked, "samples with a stack");
        Check.atMost(0.01 * walked, report.samples("refuted"), "refuted samples of a simple program");
        Check.atLeast(0.9 * walked, report.samples("proven"), "proven samples of a simple program");
        List<Sample> samples = run.profile().samples();
        for (String fate : new String[] {"proven", "plausible"}) {
            long shown = samples.stream().filter(sample -> sample.leaf().fate().equals(fate)).count();
            Check.equal(report.samples(fate), shown, fate + " samples, as the profile's categories have it");
        }
        Check.between(0.9, report.json.getAsJsonObject("conservation").get("ratio").getAsDouble(), 1.1, "sampled of charged time");
    }

    private static void isolated() throws IOException {
        Run run = Vm.lab("break=gap/5,out=all.folded").run(Program.class, "400").ok();
        Report report = run.report();
        long refuted = report.samples("refuted");
        Check.atLeast(0.1 * report.walked(), refuted, "samples of a spoiled walker that are refuted");
        Profile profile = run.profile();
        List<Sample> apart = profile.samples().stream().filter(Proof::isApart).collect(Collectors.toList());
        Check.equal(refuted, apart.size(), "samples that are shown apart");
        for (Sample sample : apart) {
            Check.atLeast(2, sample.depth(), "frames of a stack that is shown apart");
            Check.that(sample.frames().stream().allMatch(Frame::isRefuted), "all of its frames are of the category Refuted: " + sample);
            Check.equal(1, edges(sample), "frames that say where it cannot be: " + sample);
        }
        long others = profile.samples().stream().filter(sample -> !isApart(sample) && sample.frames().stream().anyMatch(Frame::isRefuted)).count();
        Check.equal(0, others, "samples that are not apart and have a refuted frame");
        checkMarkers(run, report, refuted);
        checkRefutations(report, refuted);
        long folded = 0;
        long foldedApart = 0;
        for (String line : Files.readAllLines(run.dir.resolve("all.folded"), StandardCharsets.UTF_8)) {
            long weight = Long.parseLong(line.substring(line.lastIndexOf(' ') + 1));
            folded += weight;
            foldedApart += line.startsWith(ROOT) ? weight : 0;
        }
        Check.equal(profile.weight(), folded, "weight of the folded stacks");
        Check.near(report.weightMs("refuted"), foldedApart, 1e-6, "weight of the folded stacks that are apart");
    }

    private static int edges(Sample sample) {
        List<String> functions = sample.functions();
        Check.that(!functions.get(0).startsWith("[✗ "), "the time is the method's on top: " + sample);
        return (int) functions.stream().filter(function -> function.startsWith("[✗ ")).count();
    }

    private static void checkMarkers(Run run, Report report, long refuted) {
        List<JsonObject> markers = new ArrayList<>(run.profile().markers("refuted"));
        markers.addAll(run.profile().markers("refuted-frame"));
        for (JsonObject data : markers) {
            Check.atLeast(1, data.get("number").getAsInt(), "number of a refutation");
            Sample stack = run.profile().stack(data.getAsJsonObject("cause").get("stack").getAsInt());
            Check.that(isApart(stack), "the stack of a marker is a refuted one: " + stack);
        }
        Check.equal(refuted, (long) markers.size(), "markers of refuted samples");
        JsonObject carried = run.profile().meta.getAsJsonObject("vouch");
        Check.equal(report.json.getAsJsonArray("refutations"), carried.getAsJsonArray("refutations"), "refutations that the profile carries");
    }

    private static void checkRefutations(Report report, long refuted) {
        long told = 0;
        // Some are refuted by their witness, and are in a separate list.
        for (JsonElement element : report.json.getAsJsonObject("witness").getAsJsonArray("contradictions")) {
            told += element.getAsJsonObject().get("count").getAsLong();
        }
        for (JsonElement element : report.json.getAsJsonArray("refutations")) {
            JsonObject refutation = element.getAsJsonObject();
            told += refutation.get("count").getAsLong();
            Check.atLeast(1, refutation.getAsJsonArray("stack").size(), "frames of the stack that is told");
            if (refutation.get("kind").getAsString().equals("other_callee")) {
                String place = refutation.getAsJsonArray("code").toString();
                Check.contains(place, "→", "the instruction that is told");
                Check.contains(place, refutation.get("expected").getAsString().replace("\"", "\\\""), "what its bytecode calls");
            }
        }
        Check.equal(refuted, told, "samples of all refutations");
    }

    private static void kept() {
        Run run = Vm.lab("refuted=keep,break=gap/5").run(Program.class, "400").ok();
        Check.atLeast(0.1 * run.report().walked(), run.report().samples("refuted"), "refuted samples that are kept");
        Check.that(run.profile().functions().stream().noneMatch(function -> function.startsWith(ROOT)), "none of them is shown apart");
        long marked = run.profile().samples().stream().filter(sample -> sample.leaf().fate().equals("refuted")).count();
        Check.equal(run.report().samples("refuted"), marked, "refuted samples among the others");
    }

    private static void dropped() {
        Run run = Vm.lab("refuted=drop,break=gap/5").run(Program.class, "400").ok();
        List<Sample> apart = run.profile().samples().stream().filter(Proof::isApart).collect(Collectors.toList());
        Check.equal(run.report().samples("refuted"), apart.size(), "samples whose frames are dropped");
        Check.that(apart.stream().allMatch(sample -> sample.depth() == 1), "none of their frames is shown");
        Check.near(run.report().weightMs("signals") - run.report().weightMs("dropped"), run.profile().weight(), 1, "weight of the profile, in ms");
    }

    private static boolean isApart(Sample sample) {
        return sample.root().function.startsWith(ROOT);
    }

    static class Program {
        private static int ms;

        public static void main(String[] args) {
            ms = Integer.parseInt(args[0]);
            first();
        }

        /** A chain of methods that differ from their neighbours, so a missing frame shows. */
        private static void first() {
            second(1);
        }

        private static void second(int depth) {
            third(depth + 1L);
        }

        private static void third(long depth) {
            Burn.pieces(ms);
        }
    }
}
