/*
 * A program that allocates known numbers of large arrays. Each is larger than the distance between
 * two sampled objects, so nearly every one is sampled, and chance has little part in the sums.
 *
 * @test
 * @summary allocated bytes by class are within 5 % in top, flame, diff, folded, svg and html
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=120 AllocatedBytes
 */

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Skip;
import dev.vouch.test.Tool;
import dev.vouch.test.Vm;

public class AllocatedBytes {
    private static final int ARRAYS = 150;
    private static final int FEWER_INTS = 30;
    private static final int BYTES = 4 << 20;
    private static final int INTS = 512 << 10;
    /** The bytes of each class; an array's header is too small to matter. */
    private static final double OF_BYTES = (double) ARRAYS * BYTES;
    private static final double OF_INTS = (double) ARRAYS * INTS * Integer.BYTES;
    private static final double NEAR = 0.05;

    public static void main(String[] args) throws Exception {
        Skip.unless(Vm.major() >= 11, "this JDK does not report allocations");
        Vm vm = Vm.with("events=alloc,measure=alloc,out=a.folded,out=a.svg,out=a.html").collector("-XX:+UseSerialGC")
            .flags("-Xmx256m", "-Xmn100m");
        Run run = vm.run(Program.class, Integer.toString(ARRAYS)).ok();
        top(run);
        near("vouch flame", folded(flame(run)));
        near("the agent's .folded", folded(text(run, "a.folded")));
        svg(text(run, "a.svg"));
        html(text(run, "a.html"));
        diff(run, vm.run(Program.class, Integer.toString(FEWER_INTS)).ok());
        Path picture = run.dir.resolve("cpu.folded");
        vouch(run, "flame", "profile.json", "--out", picture.toString());
        Check.that(!text(run, "cpu.folded").contains("byte[]"), "stacks of CPU time have no class as their leaf");
    }

    private static void top(Run run) throws Exception {
        JsonObject table = JsonParser.parseString(vouch(run, "top", "profile.json", "--measure", "alloc", "--json")).getAsJsonObject();
        double[] sums = new double[2];
        for (JsonElement row : table.getAsJsonArray("rows")) {
            add(sums, row.getAsJsonObject().get("name").getAsString(), row.getAsJsonObject().get("self_bytes").getAsDouble());
        }
        near("vouch top", sums);
    }

    private static String flame(Run run) throws Exception {
        vouch(run, "flame", "profile.json", "--measure", "alloc", "--out", "flame.folded");
        return text(run, "flame.folded");
    }

    /** The bytes of both classes, from folded lines that have a class as their leaf. */
    private static double[] folded(String lines) {
        double[] sums = new double[2];
        for (String line : lines.split("\n")) {
            int weight = line.lastIndexOf(' ');
            if (line.contains(".allocate")) {
                add(sums, line.substring(line.lastIndexOf(';') + 1, weight), Double.parseDouble(line.substring(weight + 1)));
            }
        }
        return sums;
    }

    private static void svg(String picture) {
        double[] sums = new double[2];
        Matcher title = Pattern.compile("<title>([^<(]+) \\(([0-9,]+) bytes").matcher(picture);
        while (title.find()) {
            add(sums, title.group(1), Double.parseDouble(title.group(2).replace(",", "")));
        }
        near("the agent's .svg", sums);
    }

    private static void html(String page) {
        String begin = "<script id=\"data\" type=\"application/json\">";
        int from = page.indexOf(begin) + begin.length();
        JsonObject data = JsonParser.parseString(page.substring(from, page.indexOf("</script", from))).getAsJsonObject();
        Check.equal("alloc", data.get("measure").getAsString(), "the measure that the page shows first");
        double[] sums = new double[2];
        for (JsonElement thread : data.getAsJsonArray("threads")) {
            JsonObject amounts = thread.getAsJsonObject().getAsJsonObject("amounts");
            JsonObject samples = amounts == null ? null : amounts.getAsJsonObject("alloc");
            for (int row = 0; samples != null && row < samples.getAsJsonArray("stack").size(); row++) {
                int stack = samples.getAsJsonArray("stack").get(row).getAsInt();
                int function = data.getAsJsonObject("stacks").getAsJsonArray("function").get(stack).getAsInt();
                int name = data.getAsJsonObject("functions").getAsJsonArray("name").get(function).getAsInt();
                add(sums, data.getAsJsonArray("names").get(name).getAsString(), samples.getAsJsonArray("weight").get(row).getAsDouble());
            }
        }
        near("the page", sums);
    }

    /** How much larger the share of byte[] is than in a run with fewer int[]. */
    private static void diff(Run run, Run other) throws Exception {
        String text = vouch(run, "diff", "profile.json", other.dir.resolve("profile.json").toString(), "--measure", "alloc", "--json");
        JsonArray methods = JsonParser.parseString(text).getAsJsonObject().getAsJsonArray("methods");
        double change = 0;
        for (JsonElement method : methods) {
            if (method.getAsJsonObject().get("name").getAsString().equals("byte[]")) {
                change = method.getAsJsonObject().get("change").getAsDouble();
            }
        }
        double fewer = OF_INTS * FEWER_INTS / ARRAYS;
        Check.near(OF_BYTES / (OF_BYTES + fewer) - OF_BYTES / (OF_BYTES + OF_INTS), change, NEAR, "the change of byte[]'s share in vouch diff");
    }

    private static void add(double[] sums, String name, double amount) {
        if (name.equals("byte[]")) {
            sums[0] += amount;
        } else if (name.equals("int[]")) {
            sums[1] += amount;
        }
    }

    private static void near(String view, double[] sums) {
        Check.near(OF_BYTES, sums[0], NEAR * OF_BYTES, "bytes of byte[] in " + view);
        Check.near(OF_INTS, sums[1], NEAR * OF_INTS, "bytes of int[] in " + view);
    }

    private static String vouch(Run run, String... arguments) throws IOException, InterruptedException {
        return Tool.vouch(run.dir, arguments).ok();
    }

    private static String text(Run run, String name) throws IOException {
        return new String(Files.readAllBytes(run.dir.resolve(name)), StandardCharsets.UTF_8);
    }

    static class Program {
        static Object kept;

        public static void main(String[] args) throws InterruptedException {
            int ints = Integer.parseInt(args[0]);
            for (int array = 0; array < ARRAYS; array++) {
                kept = allocateBytes();
                if (array < ints) {
                    kept = allocateInts();
                }
                // The agent limits samples to 200 objects a second; more would make them rarer.
                Thread.sleep(15);
            }
        }

        private static byte[] allocateBytes() {
            return new byte[BYTES];
        }

        private static int[] allocateInts() {
            return new int[INTS];
        }
    }
}
