package dev.vouch.test;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;

/** The two sums of each method: on top of the stack, and anywhere in it. */
public final class MethodSums {
    private final Map<String, List<Long>> sums = new HashMap<>();

    /** The sums of folded stacks. A weight of 1 is this value. */
    public static MethodSums folded(Path file, long times) throws IOException {
        MethodSums sums = new MethodSums();
        for (String line : Files.readAllLines(file, StandardCharsets.UTF_8)) {
            int space = line.lastIndexOf(' ');
            List<String> frames = Arrays.asList(line.substring(0, space).split(";"));
            sums.addStack(frames, frames.size() - 1, Long.parseLong(line.substring(space + 1)) * times);
        }
        return sums;
    }

    /** Adds a value to all methods of a stack. The one at `leaf` is on top. */
    public void addStack(List<String> frames, int leaf, long value) {
        add(frames.get(leaf), value, 0);
        new HashSet<>(frames).forEach(frame -> add(frame, 0, value));
    }

    /** Sets the sums of a method that has none yet. */
    public void put(String method, long alone, long all) {
        Check.that(sums.put(method, Arrays.asList(alone, all)) == null, "a method that is there twice: " + method);
    }

    private void add(String method, long alone, long all) {
        sums.merge(method, Arrays.asList(alone, all), (one, other) -> Arrays.asList(one.get(0) + other.get(0), one.get(1) + other.get(1)));
    }

    /** Fails unless a reader of another file has the same methods and sums. */
    public void checkEqual(MethodSums other, String what) {
        Check.atLeast(3, sums.size(), "methods beside " + what);
        Check.equal(sums.keySet(), other.sums.keySet(), "methods of " + what);
        Check.equal(sums, other.sums, "sums by method, of " + what);
    }
}
