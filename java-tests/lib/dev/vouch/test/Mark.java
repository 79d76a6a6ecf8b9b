package dev.vouch.test;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

/** A marker of a thread. */
public final class Mark {
    public final Track track;
    public final String name;
    /** The start in milliseconds of System.nanoTime. An instant marker ends when it begins. */
    public final double startMs;
    public final double endMs;
    /** The marker's own fields. */
    public final JsonObject data;
    /** The thread's stack, or null if the marker has none. */
    public final Sample stack;

    private final JsonArray strings;

    Mark(Profile profile, Track track, JsonObject table, int row) {
        this.track = track;
        strings = profile.json.getAsJsonObject("shared").getAsJsonArray("stringArray");
        name = strings.get(table.getAsJsonArray("name").get(row).getAsInt()).getAsString();
        startMs = table.getAsJsonArray("startTime").get(row).getAsDouble();
        JsonElement end = table.getAsJsonArray("endTime").get(row);
        endMs = end.isJsonNull() ? startMs : end.getAsDouble();
        data = table.getAsJsonArray("data").get(row).getAsJsonObject();
        JsonObject cause = data.getAsJsonObject("cause");
        stack = cause == null ? null : profile.stack(cause.get("stack").getAsInt());
    }

    public double ms() {
        return endMs - startMs;
    }

    public long number(String field) {
        return data.get(field).getAsLong();
    }

    /** True if the marker has a value in this field. */
    public boolean says(String field) {
        return data.has(field) && !data.get(field).isJsonNull();
    }

    /** True if the marker has this text in this field. */
    public boolean says(String field, String text) {
        return says(field) && text(field).equals(text);
    }

    /** The text in a field. */
    public String text(String field) {
        return strings.get(data.get(field).getAsInt()).getAsString();
    }

    /** True if the function is anywhere in its stack. */
    public boolean has(String function) {
        return stack != null && stack.has(function);
    }

    @Override
    public String toString() {
        return name + " of " + track.name + " from " + startMs + " to " + endMs + " " + data;
    }
}
