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

/**
 * The trust report, by the keys that are its contract. Reading one checks its sums.
 */
public final class Report {
    /** The fates of a sample, as the report names them. */
    public static final String[] FATES = {"proven", "plausible", "refuted", "unwalked", "outside", "dropped"};

    /**
     * A thread that pollers find by chance may be this many intervals off its CPU clock: four
     * samples of double weight, and what it ran since it was found last.
     */
    private static final int POLL_SLACK = 16;
    private static final double FAREWELL_MS = 1;

    /** A thread under one name. */
    public static final class ThreadRow {
        public final String name;
        public final long tid;
        /** What the kernel charged it; NaN if that is not known. */
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

    /** Every signal has one fate, and every sample a thread. */
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

    /** Each witness has one grade, and what it contradicts is refuted. */
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

    /** How many samples have their stack by this walker. */
    public long walkedBy(String walker) {
        return count(json.getAsJsonObject("walked_by"), walker);
    }

    /** How many samples are refuted in this way. */
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

    /** Samples of a fate, or "signals". */
    public long samples(String fate) {
        return json.getAsJsonObject("samples").get(fate).getAsLong();
    }

    /** Samples that have a stack. */
    public long walked() {
        return samples("proven") + samples("plausible") + samples("refuted");
    }

    public double weightMs(String fate) {
        return json.getAsJsonObject("weight_ms").get(fate).getAsDouble();
    }

    /** ASGCT's codes for the samples without frames. */
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

    /** The one thread of this name. */
    public ThreadRow thread(String name) {
        List<ThreadRow> rows = threads();
        rows.removeIf(row -> !row.name.equals(name));
        Check.equal(1, rows.size(), "threads named " + name + " in the report " + threads());
        return rows.get(0);
    }

    /**
     * A thread's samples stand for what the kernel charged it. When the first of them is due is
     * chance between two; the thread's last steps, in which it takes leave of the agent, are not
     * sampled. All names of the thread are taken together: a sample stands for time that may be of
     * the name before. (The main thread is called DestroyJavaVM in the end.)
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

    /** The same of a thread that has had but one name while it was sampled. */
    public void checkConserved(ThreadRow row) {
        checkConserved(row.cpuMs, row.sampledMs, row.toString());
    }

    private void checkConserved(double cpuMs, double sampledMs, String what) {
        double chance = engine().equals("poll") ? POLL_SLACK : 1;
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
     * Of the samples that two walkers were asked about and differed on so, how many are like this.
     */
    public long agreement(String difference, String key) {
        JsonObject row = json.getAsJsonObject("agreement").getAsJsonObject(difference);
        return row == null ? 0 : row.get(key).getAsLong();
    }

    /** Of all that two walkers were asked about. */
    public long agreement(String key) {
        return json.getAsJsonObject("agreement").keySet().stream().mapToLong(difference -> agreement(difference, key)).sum();
    }

    public List<String> engineNotes() {
        return strings("engine_notes");
    }

    /** Samples of which less of the stack is kept than was asked for. */
    public long stacksCut() {
        return json.get("stacks_cut").getAsLong();
    }

    /** The governor has stopped the engine before the recording's end. */
    public boolean engineStopped() {
        return json.get("engine_stopped").getAsBoolean();
    }

    public double intervalUs() {
        return json.get("interval_us").getAsDouble();
    }

    /**
     * What was in the end between two signals of a thread: the interval, or more where the machine
     * could not afford that.
     */
    public double sampledIntervalUs() {
        return json.get("sampled_interval_us").getAsDouble();
    }

    /** How many signals so much CPU time makes. */
    public double signalsIn(double cpuMs) {
        return cpuMs * 1e3 / sampledIntervalUs();
    }

    /** Sampled time over the CPU time that the kernel charged. */
    public double conserved() {
        return json.getAsJsonObject("conservation").get("ratio").getAsDouble();
    }

    /**
     * The sampled time is what the kernel charged: two in a hundred off, and for each of so many
     * busy threads what it is owed at its end.
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

    /** How many witnesses came too late to see that their thread would stop. */
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

    /** p50, p90, p99, max or total_ms. */
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
}
