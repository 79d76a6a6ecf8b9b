package dev.vouch.test;

import java.util.AbstractList;
import java.util.ArrayList;
import java.util.List;

/** One sample: its time, weight and stack. */
public final class Sample {
    /** The time in milliseconds of System.nanoTime. */
    public final double timeMs;
    public final long weight;
    /** CPU time since the thread's previous sample. */
    public final long cpuUs;

    private final Profile profile;
    private final int stack;
    /** The row of its thread's context; -1 for none. */
    private final int context;

    Sample(Profile profile, int stack, double timeMs, long weight, long cpuUs, int context) {
        this.profile = profile;
        this.stack = stack;
        this.timeMs = timeMs;
        this.weight = weight;
        this.cpuUs = cpuUs;
        this.context = context;
    }

    public Frame leaf() {
        return profile.leaf(stack);
    }

    public Frame root() {
        int at = stack;
        while (profile.parent(at) >= 0) {
            at = profile.parent(at);
        }
        return profile.leaf(at);
    }

    public int depth() {
        return profile.depth(stack);
    }

    /** The frames, leaf first, root last. */
    public List<Frame> frames() {
        List<Frame> frames = new ArrayList<>(depth());
        for (int at = stack; at >= 0; at = profile.parent(at)) {
            frames.add(profile.leaf(at));
        }
        return frames;
    }

    /** The functions, leaf first. */
    public List<String> functions() {
        List<Frame> frames = frames();
        return new AbstractList<String>() {
            @Override
            public String get(int index) {
                return frames.get(index).function;
            }

            @Override
            public int size() {
                return frames.size();
            }
        };
    }

    /** The value of a field in the innermost context that has it, or null. */
    public String says(String field) {
        return profile.contexts().says(context, field);
    }

    /** True if the function is anywhere in the stack. */
    public boolean has(String function) {
        for (int at = stack; at >= 0; at = profile.parent(at)) {
            if (profile.leaf(at).function.equals(function)) {
                return true;
            }
        }
        return false;
    }

    @Override
    public String toString() {
        return timeMs + " ms: " + functions();
    }
}
