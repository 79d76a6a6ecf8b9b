package dev.vouch.test;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

/**
 * A thread on the timeline, under one of its names.
 */
public final class Track {
    public final String name;
    /** A number; with a point and another behind it for the further names of a thread. */
    public final String tid;
    public final boolean isMain;
    /**
     * Life span on the clock of System.nanoTime, in milliseconds; the end is NaN for what lived on.
     */
    public final double startMs;
    public final double endMs;
    /** In the order of time. */
    public final List<Sample> samples;

    Track(Profile profile, JsonObject thread) {
        name = thread.get("name").getAsString();
        tid = thread.get("tid").getAsString();
        isMain = thread.get("isMainThread").getAsBoolean();
        startMs = thread.get("registerTime").getAsDouble();
        JsonElement end = thread.get("unregisterTime");
        endMs = end.isJsonNull() ? Double.NaN : end.getAsDouble();
        samples = Collections.unmodifiableList(read(profile, thread.getAsJsonObject("samples")));
    }

    private static List<Sample> read(Profile profile, JsonObject table) {
        int count = table.get("length").getAsInt();
        JsonArray stacks = table.getAsJsonArray("stack");
        Check.equal(count, stacks.size(), "cells in column stack");
        // Another profiler's samples say nothing of it.
        int[] cpu = table.has("threadCPUDelta") ? Profile.ints(table, "threadCPUDelta", count) : new int[count];
        JsonArray deltas = table.getAsJsonArray("timeDeltas");
        Check.equal(count, deltas.size(), "cells in column timeDeltas");
        JsonElement weights = table.get("weight");
        JsonArray contexts = table.getAsJsonArray("vouchContext");
        List<Sample> samples = new ArrayList<>(count);
        double time = 0;
        for (int row = 0; row < count; row++) {
            double delta = deltas.get(row).getAsDouble();
            Check.atLeast(0, delta, "time from one row to the next");
            time += delta;
            long weight = weights.isJsonNull() ? 1 : weights.getAsJsonArray().get(row).getAsLong();
            if (stacks.get(row).isJsonNull()) {
                // The thread was idle from here on: no sample, only what keeps the last stack from
                // being drawn on.
                Check.equal(0L, weight, "weight of an idle row");
                Check.equal(0, cpu[row], "CPU time of an idle row");
                continue;
            }
            int stack = stacks.get(row).getAsInt();
            Check.index(profile.stacks(), stack, "stack of a sample");
            boolean none = contexts == null || contexts.get(row).isJsonNull();
            samples.add(new Sample(profile, stack, time, weight, cpu[row], none ? -1 : contexts.get(row).getAsInt()));
        }
        return samples;
    }

    public long weight() {
        return samples.stream().mapToLong(sample -> sample.weight).sum();
    }

    /** Weight of the samples in which the function is anywhere in the stack. */
    public long weightOf(String function) {
        return samples.stream().filter(sample -> sample.has(function)).mapToLong(sample -> sample.weight).sum();
    }

    /**
     * Stretches of the thread's time below `function` weigh what they took, at least: what the
     * function did before and after it measured itself is there too, and checkConserved has the
     * upper bound. A sample stands for the time since the one before it, so the end of a stretch
     * weighs on the first sample after it, and of an engine that looks only when the kernel ticks
     * that may be a heavy one; where none comes after it, as much as that would have weighed is
     * nowhere; and of the stacks that the walker did not find nobody can say which stretch they
     * were of. `interval` is that of the recording, in milliseconds.
     */
    public void checkRan(String function, double ms, int stretches, double interval) {
        long found = 0;
        long lost = 0;
        int ofFound = 0;
        int ofLost = 0;
        long heaviestOther = 0;
        long heaviest = 0;
        for (Sample sample : samples) {
            heaviest = Math.max(heaviest, sample.weight);
            if (sample.has(function)) {
                found += sample.weight;
                ofFound++;
            } else if (sample.leaf().category.equals("No stack")) {
                lost += sample.weight;
                ofLost++;
            } else {
                heaviestOther = Math.max(heaviestOther, sample.weight);
            }
        }
        // Where in an interval a stretch begins, and the last sample of it is due, is random.
        double ends = (stretches * (heaviestOther + 2) + heaviest) * interval;
        String what = "weight of " + function + " in " + this + ", of which " + ofLost + " have no stack";
        Check.atLeast(ms - lost * interval - ends, found * interval, what + ", in ms");
        // How many stacks the walker finds is not what is asked; but of many it must be a good
        // part.
        Check.atLeast(Math.max(1, Check.leastOf(ofFound + ofLost, 0.4)), ofFound, "samples of " + function + " in " + this);
    }

    /** One stretch, in a recording at 1 ms. */
    public void checkRan(String function, double ms) {
        checkRan(function, ms, 1, 1);
    }

    /** Weight by function at the leaf. */
    public Map<String, Long> selfByFunction() {
        return Profile.selfByFunction(samples);
    }

    @Override
    public String toString() {
        return name + " (" + tid + "): " + samples.size() + " samples";
    }
}
