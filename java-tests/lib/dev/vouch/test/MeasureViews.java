package dev.vouch.test;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.HashMap;
import java.util.Map;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

/**
 * The sums of a measure by the class at the leaf of each stack, in each view that shows it. The run
 * must have written a.folded, a.html, a.pb.gz and profile.json, with this measure as `measure=`.
 */
public final class MeasureViews {
    private final Run run;
    private final String measure;
    /** The end of the keys in the JSON of `vouch top`. */
    private final String unit;
    /** The value of one such unit in the measure's unit. */
    private final double scale;

    public MeasureViews(Run run, String measure, String unit, double scale) {
        this.run = run;
        this.measure = measure;
        this.unit = unit;
        this.scale = scale;
    }

    /** Checks that each view has this amount of a class, or nearly. */
    public void check(String leaf, double expected, double near) throws IOException, InterruptedException {
        for (Map.Entry<String, Map<String, Double>> view : all().entrySet()) {
            double amount = view.getValue().getOrDefault(leaf, 0.0);
            System.out.println(measure + " of " + leaf + " in " + view.getKey() + ": " + amount + ", expected " + expected);
            Check.near(expected, amount, near * expected, measure + " of " + leaf + " in " + view.getKey());
        }
    }

    private Map<String, Map<String, Double>> all() throws IOException, InterruptedException {
        Map<String, Map<String, Double>> views = new HashMap<>();
        views.put("vouch top", top("profile.json", measure));
        views.put("vouch top of the pprof file", top("a.pb.gz", measure));
        Tool.vouch(run.dir, "flame", "profile.json", "--measure", measure, "--out", "flame.folded").ok();
        views.put("vouch flame", folded("flame.folded"));
        views.put("the agent's .folded", folded("a.folded"));
        views.put("the page", page());
        return views;
    }

    /** What `vouch top` lists as self time, bytes or events of a file. */
    public Map<String, Double> top(String file, String measure) throws IOException, InterruptedException {
        return top(file, measure, unit, scale);
    }

    public Map<String, Double> top(String file, String measure, String unit, double scale) throws IOException, InterruptedException {
        Map<String, Double> sums = new HashMap<>();
        String text = Tool.vouch(run.dir, "top", file, "--measure", measure, "--rows", "100000", "--json").ok();
        for (JsonElement row : JsonParser.parseString(text).getAsJsonObject().getAsJsonArray("rows")) {
            JsonObject method = row.getAsJsonObject();
            sums.merge(method.get("name").getAsString(), method.get("self_" + unit).getAsDouble() * scale, Double::sum);
        }
        return sums;
    }

    private Map<String, Double> folded(String file) throws IOException {
        Map<String, Double> sums = new HashMap<>();
        for (String line : text(file).split("\n")) {
            int weight = line.lastIndexOf(' ');
            String leaf = line.substring(line.lastIndexOf(';', weight) + 1, weight);
            sums.merge(leaf, Double.parseDouble(line.substring(weight + 1)), Double::sum);
        }
        return sums;
    }

    private Map<String, Double> page() throws IOException {
        String page = text("a.html");
        String begin = "<script id=\"data\" type=\"application/json\">";
        int from = page.indexOf(begin) + begin.length();
        JsonObject data = JsonParser.parseString(page.substring(from, page.indexOf("</script", from))).getAsJsonObject();
        Check.equal(measure, data.get("measure").getAsString(), "the measure that the page shows first");
        Map<String, Double> sums = new HashMap<>();
        for (JsonElement thread : data.getAsJsonArray("threads")) {
            JsonObject amounts = thread.getAsJsonObject().getAsJsonObject("amounts");
            JsonObject samples = amounts == null ? null : amounts.getAsJsonObject(measure);
            for (int row = 0; samples != null && row < samples.getAsJsonArray("stack").size(); row++) {
                int stack = samples.getAsJsonArray("stack").get(row).getAsInt();
                int function = data.getAsJsonObject("stacks").getAsJsonArray("function").get(stack).getAsInt();
                int name = data.getAsJsonObject("functions").getAsJsonArray("name").get(function).getAsInt();
                sums.merge(data.getAsJsonArray("names").get(name).getAsString(), samples.getAsJsonArray("weight").get(row).getAsDouble(), Double::sum);
            }
        }
        return sums;
    }

    private String text(String name) throws IOException {
        return new String(Files.readAllBytes(run.dir.resolve(name)), StandardCharsets.UTF_8);
    }
}
