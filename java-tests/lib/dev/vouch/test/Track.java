package dev.vouch.test;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

/** A thread on the timeline, under one of its names. */
public final class Track {
    public final String name;
    /** The thread id. Further names of a thread have a point and another number after it. */
    public final String tid;
    public final boolean isMain;
    /**
     * The thread's start in milliseconds of System.nanoTime. The end is NaN for a thread that did
     * not end.
     */
    public final double startMs;
    public final double endMs;
    /** The samples in the order of time. */
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
        // Samples of other profilers have no CPU time.
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
                // The thread was idle from here on. The row is not a sample; it ends the drawing of
                // the last stack.
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
     * Checks that periods below `function` weigh at least `ms`. They also include what the function
     * did before and after it measured itself; checkConserved has the upper bound.
     *
     * A sample stands for the time since the one before it, so the end of a period is counted by
     * the first sample after it. That sample is heavy for an engine that looks only at kernel
     * ticks, and missing if none follows. Samples without a stack cannot be assigned to a period.
     * `interval` is the recording's, in milliseconds.
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
        // A period begins, and its last sample is due, at a random point of an interval.
        double ends = (stretches * (heaviestOther + 2) + heaviest) * interval;
        String what = "weight of " + function + " in " + this + ", of which " + ofLost + " have no stack";
        Check.atLeast(ms - lost * interval - ends, found * interval, what + ", in ms");
        // This does not test how many stacks the walker finds, but of many it must find a good
        // part.
        Check.atLeast(Math.max(1, Check.leastOf(ofFound + ofLost, 0.4)), ofFound, "samples of " + function + " in " + this);
    }

    /** Checks one period, in a recording at 1 ms. */
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
