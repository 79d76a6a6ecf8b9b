package dev.vouch.test;

import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.zip.GZIPInputStream;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

/**
 * A Firefox Profiler file, version 66, with its tracks, samples and stacks. Reading one checks that
 * all references are valid, and that a stack's parent comes before it.
 */
public final class Profile {
    /** The whole file, for what has no method here. */
    public final JsonObject json;
    /** The file's `meta`. */
    public final JsonObject meta;
    public final List<Track> tracks;

    private final List<Frame> frames = new ArrayList<>();
    private final Contexts contexts;
    private final int[] stackFrame;
    private final int[] stackParent;
    private final int[] stackDepth;

    private Profile(JsonObject file) {
        json = file;
        meta = file.getAsJsonObject("meta");
        Check.equal(66, meta.get("preprocessedProfileVersion").getAsInt(), "version of the profile");
        JsonObject shared = file.getAsJsonObject("shared");
        readFrames(shared);
        contexts = new Contexts(meta.getAsJsonObject("vouchContexts"), shared.getAsJsonArray("stringArray"));
        JsonObject stacks = shared.getAsJsonObject("stackTable");
        int count = stacks.get("length").getAsInt();
        stackFrame = ints(stacks, "frame", count);
        int[] offset = ints(stacks, "prefixOffset", count);
        stackParent = new int[count];
        stackDepth = new int[count];
        for (int stack = 0; stack < count; stack++) {
            Check.index(stack + 1, offset[stack], "offset of the parent of stack " + stack);
            Check.index(frames.size(), stackFrame[stack], "frame of stack " + stack);
            stackParent[stack] = offset[stack] == 0 ? -1 : stack - offset[stack];
            stackDepth[stack] = offset[stack] == 0 ? 1 : 1 + stackDepth[stackParent[stack]];
        }
        List<Track> all = new ArrayList<>();
        for (JsonElement thread : file.getAsJsonArray("threads")) {
            all.add(new Track(this, thread.getAsJsonObject()));
        }
        tracks = Collections.unmodifiableList(all);
    }

    /** Reads .json or .json.gz. */
    public static Profile read(Path file) {
        boolean packed = file.toString().endsWith(".gz");
        try (Reader reader = new InputStreamReader(
                packed ? new GZIPInputStream(Files.newInputStream(file)) : Files.newInputStream(file),
                StandardCharsets.UTF_8)) {
            return new Profile(JsonParser.parseReader(reader).getAsJsonObject());
        } catch (IOException error) {
            throw new UncheckedIOException("there is no profile that can be read: " + file, error);
        }
    }

    /** The fields of all markers of this kind. */
    public List<JsonObject> markers(String kind) {
        List<JsonObject> markers = new ArrayList<>();
        for (JsonElement thread : json.getAsJsonArray("threads")) {
            for (JsonElement data : thread.getAsJsonObject().getAsJsonObject("markers").getAsJsonArray("data")) {
                if (data.getAsJsonObject().get("type").getAsString().equals(kind)) {
                    markers.add(data.getAsJsonObject());
                }
            }
        }
        return markers;
    }

    /** The markers of this kind that have this text in this field. */
    public List<Mark> marks(String kind, String field, String text) {
        List<Mark> marks = marks(kind);
        marks.removeIf(mark -> !mark.says(field, text));
        return marks;
    }

    /** All markers of this kind, in the order of their tracks. */
    public List<Mark> marks(String kind) {
        List<Mark> marks = new ArrayList<>();
        JsonArray threads = json.getAsJsonArray("threads");
        for (int track = 0; track < threads.size(); track++) {
            JsonObject table = threads.get(track).getAsJsonObject().getAsJsonObject("markers");
            for (int row = 0; row < table.get("length").getAsInt(); row++) {
                if (table.getAsJsonArray("data").get(row).getAsJsonObject().get("type").getAsString().equals(kind)) {
                    marks.add(new Mark(this, tracks.get(track), table, row));
                }
            }
        }
        return marks;
    }

    /** A stack by its row, as a sample of weight 0. */
    public Sample stack(int number) {
        return stack(number, -1);
    }

    /** A stack and a context by their rows, as a sample of weight 0. Row -1 is no context. */
    public Sample stack(int number, int context) {
        return new Sample(this, number, 0, 0, 0, context);
    }

    /** The only track with this name. */
    public Track track(String name) {
        List<Track> named = tracks(name);
        Check.equal(1, named.size(), "tracks named " + name + " among " + names());
        return named.get(0);
    }

    public List<Track> tracks(String name) {
        List<Track> named = new ArrayList<>(tracks);
        named.removeIf(track -> !track.name.equals(name));
        return named;
    }

    public TreeSet<String> names() {
        TreeSet<String> names = new TreeSet<>();
        tracks.forEach(track -> names.add(track.name));
        return names;
    }

    /** All samples of all tracks. */
    public List<Sample> samples() {
        List<Sample> samples = new ArrayList<>();
        tracks.forEach(track -> samples.addAll(track.samples));
        return samples;
    }

    public long weight() {
        return tracks.stream().mapToLong(Track::weight).sum();
    }

    /** Every function that is in a frame of the file, sampled or not. */
    public TreeSet<String> functions() {
        TreeSet<String> functions = new TreeSet<>();
        frames.forEach(frame -> functions.add(frame.function));
        return functions;
    }

    public List<Frame> frames() {
        return Collections.unmodifiableList(frames);
    }

    /** Weight by function at the leaf. */
    public Map<String, Long> selfByFunction() {
        return selfByFunction(samples());
    }

    static Map<String, Long> selfByFunction(List<Sample> samples) {
        Map<String, Long> weights = new LinkedHashMap<>();
        samples.forEach(sample -> weights.merge(sample.leaf().function, sample.weight, Long::sum));
        return weights;
    }

    Contexts contexts() {
        return contexts;
    }

    int stacks() {
        return stackFrame.length;
    }

    int depth(int stack) {
        return stackDepth[stack];
    }

    Frame leaf(int stack) {
        return frames.get(stackFrame[stack]);
    }

    int parent(int stack) {
        return stackParent[stack];
    }

    private void readFrames(JsonObject shared) {
        JsonArray strings = shared.getAsJsonArray("stringArray");
        JsonObject sources = shared.getAsJsonObject("sources");
        JsonObject resources = shared.getAsJsonObject("resourceTable");
        JsonObject funcs = shared.getAsJsonObject("funcTable");
        JsonObject table = shared.getAsJsonObject("frameTable");
        JsonArray categories = meta.getAsJsonArray("categories");
        Function<JsonElement, String> string = index -> strings.get(index.getAsInt()).getAsString();
        for (int row = 0; row < table.get("length").getAsInt(); row++) {
            int func = cell(table, "func", row).getAsInt();
            JsonElement source = cell(funcs, "source", func);
            int resource = cell(funcs, "resource", func).getAsInt();
            JsonObject category = categories.get(cell(table, "category", row).getAsInt()).getAsJsonObject();
            int subcategory = cell(table, "subcategory", row).getAsInt();
            frames.add(new Frame(
                string.apply(cell(funcs, "name", func)),
                source.isJsonNull() ? null : string.apply(cell(sources, "filename", source.getAsInt())),
                lineOf(cell(table, "line", row)),
                lineOf(cell(funcs, "lineNumber", func)),
                resource < 0 ? null : string.apply(cell(resources, "name", resource)),
                category.get("name").getAsString(),
                category.getAsJsonArray("subcategories").get(subcategory).getAsString(),
                cell(funcs, "relevantForJS", func).getAsBoolean()));
        }
    }

    private static int lineOf(JsonElement cell) {
        return cell.isJsonNull() ? 0 : cell.getAsInt();
    }

    private static JsonElement cell(JsonObject table, String column, int row) {
        return table.getAsJsonArray(column).get(row);
    }

    static int[] ints(JsonObject table, String column, int count) {
        JsonArray cells = table.getAsJsonArray(column);
        Check.equal(count, cells.size(), "cells in column " + column);
        int[] values = new int[count];
        for (int row = 0; row < count; row++) {
            values[row] = cells.get(row).getAsInt();
        }
        return values;
    }
}
