/*
 * Compiles and runs the program of docs/contexts.md as a reader would. Its profile must show what
 * the page says, since an example that fails is worse than none.
 *
 * @test
 * @summary the program of docs/contexts.md works, and its profile distinguishes its users
 * @key newest
 * @library /lib /api/src
 * @build dev.vouch.test.* dev.vouch.Vouch
 * @run main/timeout=200 DocsContexts
 */

import java.io.IOException;
import java.util.Arrays;
import java.util.TreeSet;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

import dev.vouch.test.Check;
import dev.vouch.test.DocsProgram;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;

public class DocsContexts {
    public static void main(String[] args) throws IOException {
        DocsProgram.run("contexts.md", "FileServer", DocsContexts::check);
    }

    private static void check(Run run) {
        JsonObject contexts = run.report().json.getAsJsonObject("contexts");
        JsonObject request = contexts.getAsJsonArray("kinds").get(0).getAsJsonObject();
        Check.equal("Request", request.get("label").getAsString(), "the kind of contexts");
        TreeSet<String> fields = new TreeSet<>();
        for (JsonElement field : request.getAsJsonArray("fields")) {
            fields.add(field.getAsJsonObject().get("key").getAsString());
        }
        Check.equal(new TreeSet<>(Arrays.asList("action", "file", "user")), fields, "fields");
        long stores = 0;
        long fetches = 0;
        for (Sample sample : run.profile().samples()) {
            if (sample.leaf().holds() && sample.has("FileServer.serve") && sample.says("user") != null) {
                stores += sample.says("action").equals("store") ? sample.weight : 0;
                fetches += sample.says("action").equals("fetch") ? sample.weight : 0;
            }
        }
        // The program stores as often as it fetches, and a fetch is three times the work. The first
        // call is a fetch that is not compiled yet.
        Check.that(fetches > 0 && stores > 1.5 * fetches, "weight of stores, " + stores + ", against that of fetches, " + fetches);
    }
}
