package dev.vouch.test;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

/**
 * The contexts that a program declared for its threads' work. Samples of a profile refer to rows of
 * this table.
 */
final class Contexts {
    private final List<Map<String, String>> said = new ArrayList<>();
    private final List<Integer> outer = new ArrayList<>();

    /** `table` is null if the program declared no contexts. */
    Contexts(JsonObject table, JsonArray strings) {
        int count = table == null ? 0 : table.get("length").getAsInt();
        for (int row = 0; row < count; row++) {
            JsonElement around = table.getAsJsonArray("outer").get(row);
            Check.that(around.isJsonNull() || around.getAsInt() < row, "context " + row + " is nested in one that comes later");
            outer.add(around.isJsonNull() ? -1 : around.getAsInt());
            int kind = table.getAsJsonArray("kind").get(row).getAsInt();
            JsonArray fields = table.getAsJsonArray("kinds").get(kind).getAsJsonObject().getAsJsonArray("fields");
            JsonArray values = table.getAsJsonArray("values").get(row).getAsJsonArray();
            Check.equal(fields.size(), values.size(), "values of context " + row);
            Map<String, String> says = new LinkedHashMap<>();
            for (int at = 0; at < values.size(); at++) {
                says.put(strings.get(fields.get(at).getAsInt()).getAsString(), strings.get(values.get(at).getAsInt()).getAsString());
            }
            said.add(says);
        }
    }

    /** The value of a field in the innermost context that has it. */
    String says(int context, String field) {
        for (int at = context; at >= 0; at = outer.get(at)) {
            if (said.get(at).containsKey(field)) {
                return said.get(at).get(field);
            }
        }
        return null;
    }
}
