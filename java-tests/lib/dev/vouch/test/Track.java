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
    /** Life span on the clock of System.nanoTime, in milliseconds; the end is NaN for what lived on. */
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
        int[] cpu = Profile.ints(table, "threadCPUDelta", count);
        JsonArray deltas = table.getAsJsonArray("timeDeltas");
        Check.equal(count, deltas.size(), "cells in column timeDeltas");
        JsonElement weights = table.get("weight");
        List<Sample> samples = new ArrayList<>(count);
        double time = 0;
        for (int row = 0; row < count; row++) {
            double delta = deltas.get(row).getAsDouble();
            Check.atLeast(0, delta, "time from one row to the next");
            time += delta;
            long weight = weights.isJsonNull() ? 1 : weights.getAsJsonArray().get(row).getAsLong();
            if (stacks.get(row).isJsonNull()) {
                // The thread was idle from here on: no sample, only what keeps the last stack from being drawn on.
                Check.equal(0L, weight, "weight of an idle row");
                Check.equal(0, cpu[row], "CPU time of an idle row");
                continue;
            }
            int stack = stacks.get(row).getAsInt();
            Check.between(0, stack, profile.stacks() - 1, "stack of a sample");
            samples.add(new Sample(profile, stack, time, weight, cpu[row]));
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

    /** Weight by function at the leaf. */
    public Map<String, Long> selfByFunction() {
        return Profile.selfByFunction(samples);
    }

    @Override
    public String toString() {
        return name + " (" + tid + "): " + samples.size() + " samples";
    }
}
