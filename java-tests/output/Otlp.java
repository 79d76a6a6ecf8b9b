/*
 * The OpenTelemetry Collector's own decoder must read the same sums from .otlp.gz as .json and
 * .folded have. It adds up each measure by method, alone and with all that it called, by thread,
 * by context and by trace. A profile that is sent to a Collector must give the same answer there.
 *
 * @test
 * @summary the Collector's decoder reads the sums by method, thread, context and trace
 * @key newest
 * @library /lib /api/src
 * @build dev.vouch.test.* dev.vouch.Vouch
 * @run main Otlp
 */

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;

import dev.vouch.Label;
import dev.vouch.Scope;
import dev.vouch.Trace;
import dev.vouch.Vouch;
import dev.vouch.test.Check;
import dev.vouch.test.MethodSums;
import dev.vouch.test.Recursion;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.Skip;
import dev.vouch.test.Track;
import dev.vouch.test.Vm;

public class Otlp {
    /** A sample of weight 1 in nanoseconds. */
    private static final long INTERVAL = 1_000_000;

    public static void main(String[] args) throws Exception {
        boolean allocates = Vm.major() >= 11;
        Path decoder = Vm.agent().getParent().resolveSibling("tools/otlp-sums");
        Skip.unless(Files.isExecutable(decoder), decoder + " is not there: scripts/test builds it with Go (https://go.dev/dl)");
        Vm vm = Vm.with("out=profile.folded,out=profile.otlp.gz,interval=1ms,wall=on" + (allocates ? ",events=alloc" : ""));
        vm.env("OTEL_SERVICE_NAME", "shop").env("OTEL_RESOURCE_ATTRIBUTES", "service.version=2%2E1,service.name=other");
        Run run = vm.run(Program.class);
        Skip.ifEngineRefused(run);
        run.ok();
        Map<String, List<String>> lines = decoded(decoder, run.dir.resolve("profile.otlp.gz"));

        MethodSums.folded(run.dir.resolve("profile.folded"), INTERVAL).checkEqual(methods(lines, "cpu\tnanoseconds"), ".otlp.gz, beside .folded");
        Expected cpu = new Expected();
        for (Track track : run.profile().tracks) {
            track.samples.forEach(sample -> cpu.add(track.name, sample, sample.weight * INTERVAL));
        }
        cpu.check(lines, "cpu\tnanoseconds");
        Check.equal(new HashSet<>(Arrays.asList("Request.user\tuser-0", "Request.user\tuser-1")), keys(cpu.labels, "Request.user\t"), "users with samples");
        Check.equal(1, cpu.traces.size(), "traces with samples");
        if (allocates) {
            amounts(run, "jsAllocations").check(lines, "alloc_space\tbytes");
        }
        amounts(run, "vouchWallClock").check(lines, "wall\tnanoseconds");

        Map<String, String> resource = new HashMap<>();
        rows(lines, "resource", "").forEach(row -> resource.put(row[0], row[1]));
        Check.equal("shop", resource.get("service.name"), "service.name");
        Check.equal("2.1", resource.get("service.version"), "service.version");
        Check.contains(resource.keySet(), "process.pid", "attributes of the resource");
        Set<String> types = new HashSet<>();
        rows(lines, "frames", "").forEach(row -> types.add(row[0] + " " + row[1]));
        Check.contains(types, "profile.frame.type jvm", "attributes of frames");
    }

    /** What the decoder printed, by the first word of each line. */
    private static Map<String, List<String>> decoded(Path decoder, Path file) throws IOException, InterruptedException {
        File sums = new File("sums.txt").getAbsoluteFile();
        ProcessBuilder builder = new ProcessBuilder(decoder.toString(), file.toString()).redirectErrorStream(true);
        int exit = builder.redirectOutput(sums).start().waitFor();
        List<String> lines = Files.readAllLines(sums.toPath(), StandardCharsets.UTF_8);
        Check.that(exit == 0, "the decoder ended with " + exit + ": " + lines);
        Map<String, List<String>> byKind = new HashMap<>();
        for (String line : lines) {
            int tab = line.indexOf('\t');
            byKind.computeIfAbsent(line.substring(0, tab), kind -> new ArrayList<>()).add(line.substring(tab + 1));
        }
        return byKind;
    }

    /** The columns after `prefix` of the lines that have it. */
    private static List<String[]> rows(Map<String, List<String>> lines, String kind, String prefix) {
        List<String[]> rows = new ArrayList<>();
        for (String line : lines.getOrDefault(kind, new ArrayList<>())) {
            if (line.startsWith(prefix)) {
                rows.add(line.substring(prefix.length()).split("\t", -1));
            }
        }
        return rows;
    }

    private static MethodSums methods(Map<String, List<String>> lines, String measure) {
        MethodSums sums = new MethodSums();
        rows(lines, "method", measure + "\t").forEach(row -> sums.put(row[0], Long.parseLong(row[1]), Long.parseLong(row[2])));
        return sums;
    }

    /** The sums of a table that each track of the .json file has for a measure. */
    private static Expected amounts(Run run, String table) {
        Expected expected = new Expected();
        for (JsonElement thread : run.profile().json.getAsJsonArray("threads")) {
            JsonObject amounts = thread.getAsJsonObject().getAsJsonObject(table);
            JsonArray weights = amounts == null ? new JsonArray() : amounts.getAsJsonArray("weight");
            for (int row = 0; row < weights.size(); row++) {
                int stack = amounts.getAsJsonArray("stack").get(row).getAsInt();
                // Only waits and running time have contexts.
                JsonElement context = amounts.has("vouchContext") ? amounts.getAsJsonArray("vouchContext").get(row) : JsonNull.INSTANCE;
                Sample sample = run.profile().stack(stack, context.isJsonNull() ? -1 : context.getAsInt());
                expected.add(thread.getAsJsonObject().get("name").getAsString(), sample, weights.get(row).getAsLong());
            }
        }
        return expected;
    }

    private static Set<String> keys(Map<String, Long> labels, String prefix) {
        Set<String> keys = new HashSet<>(labels.keySet());
        keys.removeIf(key -> !key.startsWith(prefix));
        return keys;
    }

    /** The sums of a measure in the .json file. */
    private static final class Expected {
        private final MethodSums methods = new MethodSums();
        private final Map<String, Long> labels = new HashMap<>();
        private final Map<String, Long> traces = new HashMap<>();
        private long all;

        void add(String thread, Sample sample, long value) {
            all += value;
            methods.addStack(sample.functions(), 0, value);
            labels.merge("thread.name\t" + thread, value, Long::sum);
            if (sample.says("user") != null) {
                labels.merge("Request.user\t" + sample.says("user"), value, Long::sum);
            }
            if (sample.says("trace_id") != null) {
                traces.merge(sample.says("trace_id") + "\t" + sample.says("span_id"), value, Long::sum);
            }
        }

        void check(Map<String, List<String>> lines, String measure) {
            Check.atLeast(1, all, "sum of " + measure);
            methods.checkEqual(methods(lines, measure), ".otlp.gz, beside .json, " + measure);
            Map<String, Long> found = new HashMap<>();
            long fates = 0;
            for (String[] row : rows(lines, "label", measure + "\t")) {
                long sum = Long.parseLong(row[2]);
                if (row[0].equals("vouch.fate")) {
                    fates += sum;
                } else if (row[0].equals("thread.name") || row[0].equals("Request.user")) {
                    found.put(row[0] + "\t" + row[1], sum);
                }
            }
            Check.equal(labels, found, "sums by thread and context, " + measure);
            Check.equal(all, fates, "sum over all fates, " + measure);
            Map<String, Long> linked = new HashMap<>();
            rows(lines, "trace", measure + "\t").forEach(row -> linked.put(row[0] + "\t" + row[1], Long.parseLong(row[2])));
            Check.equal(traces, linked, "sums by trace, " + measure);
        }
    }

    @Label("Request")
    static final class Request {
        @Label("user")
        private final String user;

        Request(String user) {
            this.user = user;
        }
    }

    static class Program {
        public static void main(String[] args) throws InterruptedException {
            Thread[] workers = new Thread[2];
            for (int at = 0; at < workers.length; at++) {
                Request request = new Request("user-" + at);
                workers[at] = new Thread(() -> serve(request), "worker-" + at);
                workers[at].start();
            }
            for (Thread worker : workers) {
                worker.join();
            }
        }

        private static void serve(Request request) {
            try (Scope scope = Vouch.with(request)) {
                Recursion.work(3);
                try (Trace trace = Vouch.trace(2, 1, 9)) {
                    Recursion.work(1);
                }
            }
        }
    }
}
