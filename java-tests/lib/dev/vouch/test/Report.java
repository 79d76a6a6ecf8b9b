package dev.vouch.test;

import java.io.IOException;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

/** The trust report, read by its keys, which are a contract. Reading a report checks its sums. */
public final class Report {
    /** The fates of a sample, as the report names them. */
    public static final String[] FATES = {"proven", "plausible", "refuted", "unwalked", "outside", "dropped"};

    /**
     * The number of samples by which a polled thread may differ from its CPU clock: four samples,
     * and the time since it was last found.
     */
    private static final int POLL_SAMPLES = 8;
    /** The weight of a poller's samples if its looks come in time. */
    private static final int POLL_WEIGHT = 2;
    /** The number of samples after which the clock has corrected a heavy one. */
    private static final int POLL_LAST_SAMPLES = 32;
    private static final double FAREWELL_MS = 1;

    /** A thread under one of its names. */
    public static final class ThreadRow {
        public final String name;
        public final long tid;
        /** The CPU time that the kernel charged, in ms; NaN if it is unknown. */
        public final double cpuMs;
        public final double sampledMs;
        public final long samples;
        public final long refuted;
        public final long unwalked;

        ThreadRow(JsonObject row) {
            name = row.get("name").getAsString();
            tid = row.get("tid").getAsLong();
            cpuMs = row.get("cpu_ms").isJsonNull() ? Double.NaN : row.get("cpu_ms").getAsDouble();
            sampledMs = row.get("sampled_ms").getAsDouble();
            samples = row.get("samples").getAsLong();
            refuted = row.get("refuted").getAsLong();
            unwalked = row.get("unwalked").getAsLong();
        }

        @Override
        public String toString() {
            return name + " (tid " + tid + "): " + samples + " samples, " + sampledMs + " of " + cpuMs + " ms";
        }
    }

    /** The whole report, for keys that have no method here. */
    public final JsonObject json;

    private Report(JsonObject json) {
        this.json = json;
        checkSum();
    }

    public static Report read(Path file) {
        try (Reader reader = Files.newBufferedReader(file, StandardCharsets.UTF_8)) {
            return new Report(JsonParser.parseReader(reader).getAsJsonObject());
        } catch (IOException error) {
            throw new AssertionError("there is no report that can be read: " + file, error);
        }
    }

    /** Checks that every signal has one fate, and every sample a thread. */
    public void checkSum() {
        long samples = 0;
        double weight = 0;
        for (String fate : FATES) {
            samples += samples(fate);
            weight += weightMs(fate);
        }
        Check.equal(signals(), samples, "sum of the fates of all samples");
        Check.near(weightMs("signals"), weight, 1e-6 * (1 + weight), "sum of the fates' weights");
        long ofThreads = threads().stream().mapToLong(thread -> thread.samples).sum();
        Check.between(signals() - samples("dropped"), ofThreads, signals(), "sum of the threads' samples");
        long codes = unwalkedCodes().values().stream().mapToLong(Long::longValue).sum();
        Check.equal(samples("unwalked"), codes, "sum of the reasons for unwalked samples");
        Check.equal(samples("refuted"), sum(json.getAsJsonObject("refuted")), "sum of the kinds of refuted samples");
        JsonObject edges = json.getAsJsonObject("edges");
        long explained = sum(edges.getAsJsonObject("explained"));
        long verdicts = edges.get("proven").getAsLong() + explained + edges.get("refuted").getAsLong();
        Check.equal(edges.get("distinct").getAsLong(), verdicts, "sum of the verdicts on all edges");
        checkWitness(json.getAsJsonObject("witness"));
    }

    /**
     * Checks that each witness has one grade, and that samples which it contradicts are refuted.
     */
    private void checkWitness(JsonObject witness) {
        long graded = witness.get("gone").getAsLong();
        long confirmed = 0;
        long contradicted = 0;
        for (String name : new String[] {"exact", "all_but_top", "root_only"}) {
            JsonObject grade = witness.getAsJsonObject(name);
            long asked = grade.get("asked").getAsLong();
            graded += asked;
            confirmed += name.equals("root_only") ? 0 : grade.get("agreed").getAsLong();
            contradicted += name.equals("root_only") ? 0 : asked - grade.get("agreed").getAsLong();
        }
        Check.equal(witness.get("asked").getAsLong(), graded, "sum of the witnesses' grades");
        Check.equal(confirmed, sum(witness.getAsJsonObject("confirmed")), "sum of the fates that were confirmed");
        Check.equal(contradicted, sum(witness.getAsJsonObject("contradicted")), "sum of the fates that were contradicted");
        Check.equal(contradicted, refuted("witness"), "samples that are refuted by their witness");
    }

    /** The number of samples with a stack by this walker. */
    public long walkedBy(String walker) {
        return count(json.getAsJsonObject("walked_by"), walker);
    }

    /** The number of samples with this kind of refutation. */
    public long refuted(String kind) {
        return count(json.getAsJsonObject("refuted"), kind);
    }

    private static long count(JsonObject counts, String key) {
        return counts.has(key) ? counts.get(key).getAsLong() : 0;
    }

    private static long sum(JsonObject counts) {
        return counts.entrySet().stream().mapToLong(count -> count.getValue().getAsLong()).sum();
    }

    public long signals() {
        return samples("signals");
    }

    /** The number of samples with a fate, or of "signals". */
    public long samples(String fate) {
        return json.getAsJsonObject("samples").get(fate).getAsLong();
    }

    /** The number of samples that have a stack. */
    public long walked() {
        return samples("proven") + samples("plausible") + samples("refuted");
    }

    public double weightMs(String fate) {
        return json.getAsJsonObject("weight_ms").get(fate).getAsDouble();
    }

    /** AsyncGetCallTrace's codes for samples without frames, with counts. */
    public Map<String, Long> unwalkedCodes() {
        Map<String, Long> codes = new LinkedHashMap<>();
        json.getAsJsonObject("unwalked").entrySet().forEach(code -> codes.put(code.getKey(), code.getValue().getAsLong()));
        return codes;
    }

    public List<ThreadRow> threads() {
        List<ThreadRow> rows = new ArrayList<>();
        json.getAsJsonArray("threads").forEach(row -> rows.add(new ThreadRow(row.getAsJsonObject())));
        return rows;
    }

    /** The only thread with this name. */
    public ThreadRow thread(String name) {
        List<ThreadRow> rows = threads();
        rows.removeIf(row -> !row.name.equals(name));
        Check.equal(1, rows.size(), "threads named " + name + " in the report " + threads());
        return rows.get(0);
    }

    /**
     * Checks a thread's sampled time against the CPU time that the kernel charged. Chance decides
     * when the first sample is due, and the thread's last steps in the agent are not sampled. All
     * names of the thread are added, because a sample may cover time under the previous name. (The
     * main thread ends as DestroyJavaVM.)
     */
    public void checkConserved(String name) {
        double cpu = 0;
        double sampled = 0;
        for (ThreadRow row : threads()) {
            if (row.tid == thread(name).tid) {
                cpu += row.cpuMs;
                sampled += row.sampledMs;
            }
        }
        checkConserved(cpu, sampled, name);
    }

    /** Checks a thread that had only one name while it was sampled. */
    public void checkConserved(ThreadRow row) {
        checkConserved(row.cpuMs, row.sampledMs, row.toString());
    }

    /** Checks the same, with the thread's samples, which say how late a poller was. */
    public void checkConserved(ThreadRow row, Track track) {
        checkConserved(row.cpuMs, row.sampledMs, row.toString(), chance(track));
    }

    private void checkConserved(double cpuMs, double sampledMs, String what) {
        checkConserved(cpuMs, sampledMs, what, engine().equals("poll") ? POLL_SAMPLES * POLL_WEIGHT : 1);
    }

    /**
     * The number of intervals by which a thread may differ from its CPU clock by chance. A poller
     * that looks late, on a busy machine, gives its samples the time since its last look. What came
     * before the last samples has been corrected by the clock.
     */
    public long chance(Track track) {
        List<Sample> all = track.samples;
        List<Sample> last = all.subList(Math.max(0, all.size() - POLL_LAST_SAMPLES), all.size());
        long heaviest = last.stream().mapToLong(sample -> sample.weight).max().orElse(0);
        return engine().equals("poll") ? POLL_SAMPLES * Math.max(POLL_WEIGHT, heaviest) : 1;
    }

    private void checkConserved(double cpuMs, double sampledMs, String what, long chance) {
        Check.near(cpuMs, sampledMs, chance * sampledIntervalUs() / 1e3 + FAREWELL_MS, "sampled time of " + what);
    }

    public String vouch() {
        return json.get("vouch").getAsString();
    }

    public String jdk() {
        return json.get("jdk").getAsString();
    }

    public List<String> vmFlags() {
        return strings("vm_flags");
    }

    public String command() {
        return json.get("command").getAsString();
    }

    public String engine() {
        return json.get("engine").getAsString();
    }

    /**
     * The number of samples with this key among those on which two walkers differed in this way.
     */
    public long agreement(String difference, String key) {
        JsonObject row = json.getAsJsonObject("agreement").getAsJsonObject(difference);
        return row == null ? 0 : row.get(key).getAsLong();
    }

    /** The number of samples with this key among all that two walkers walked. */
    public long agreement(String key) {
        return json.getAsJsonObject("agreement").keySet().stream().mapToLong(difference -> agreement(difference, key)).sum();
    }

    public List<String> engineNotes() {
        return strings("engine_notes");
    }

    /** The number of samples with a stack that was cut below the configured depth. */
    public long stacksCut() {
        return json.get("stacks_cut").getAsLong();
    }

    /** True if the governor stopped the engine before the recording ended. */
    public boolean engineStopped() {
        return json.get("engine_stopped").getAsBoolean();
    }

    public double intervalUs() {
        return json.get("interval_us").getAsDouble();
    }

    /**
     * The interval between two signals of a thread at the end of the run. It is longer than
     * configured if the machine could not afford that.
     */
    public double sampledIntervalUs() {
        return json.get("sampled_interval_us").getAsDouble();
    }

    /** The number of signals in this much CPU time. */
    public double signalsIn(double cpuMs) {
        return cpuMs * 1e3 / sampledIntervalUs();
    }

    /** The sampled time divided by the CPU time that the kernel charged. */
    public double conserved() {
        return json.getAsJsonObject("conservation").get("ratio").getAsDouble();
    }

    /**
     * Checks that the sampled time is the CPU time that the kernel charged, within two percent, and
     * one interval for each busy thread.
     */
    public void checkConserved(int threads) {
        JsonObject conservation = json.getAsJsonObject("conservation");
        double charged = conservation.get("cpu_ms").getAsDouble();
        Check.near(charged, conservation.get("sampled_ms").getAsDouble(), 0.02 * charged + threads * sampledIntervalUs() / 1e3,
            "sampled time of what the kernel charged, in ms");
    }

    public double askedHz() {
        return json.getAsJsonObject("rate").get("asked_hz").getAsDouble();
    }

    public double reachedHz() {
        return json.getAsJsonObject("rate").get("reached_hz").getAsDouble();
    }

    /** The number of witnesses that came too late to see that their thread would stop. */
    public long lateWitnesses() {
        return count(json.getAsJsonObject("witness").getAsJsonObject("root_only_because"), "late");
    }

    public double wallMs() {
        return json.get("wall_ms").getAsDouble();
    }

    public double cpuMs() {
        return json.get("cpu_ms").getAsDouble();
    }

    public double agentCpuMs() {
        return json.get("agent_cpu_ms").getAsDouble();
    }

    /** A value of the handler's cost: p50, p90, p99, max or total_ms. */
    public double handlerNs(String figure) {
        return json.getAsJsonObject("handler_ns").get(figure).getAsDouble();
    }

    public long namesLost() {
        return json.get("names_lost").getAsLong();
    }

    public long bytesRecorded() {
        return json.get("bytes_recorded").getAsLong();
    }

    private List<String> strings(String key) {
        List<String> strings = new ArrayList<>();
        for (JsonElement element : json.getAsJsonArray(key)) {
            strings.add(element.getAsString());
        }
        return strings;
    }

    /** The share of the judged time in stacks with a top frame that is more than a guess. */
    public double certainShare() {
        JsonObject topFrame = json.getAsJsonObject("top_frame");
        double guess = topFrame.getAsJsonObject("approximate").get("weight_ms").getAsDouble();
        double sum = guess;
        for (String certainty : new String[] {"exact", "method_certain"}) {
            sum += topFrame.getAsJsonObject(certainty).get("weight_ms").getAsDouble();
        }
        return 1 - guess / sum;
    }
}
