/*
 * Compiles and runs the program of docs/groups.md as a reader would. It must print what the page
 * says. `vouch groups` must say the same about its recording.
 *
 * @test
 * @summary the program of docs/groups.md works, and reports its slow orders
 * @key newest
 * @library /lib /api/src
 * @build dev.vouch.test.* dev.vouch.Vouch
 * @run main/timeout=200 DocsGroups
 */

import java.io.IOException;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import dev.vouch.test.Check;
import dev.vouch.test.DocsProgram;
import dev.vouch.test.Run;
import dev.vouch.test.Tool;

public class DocsGroups {
    public static void main(String[] args) throws IOException {
        DocsProgram.run("groups.md", "Shop", DocsGroups::check);
    }

    private static void check(Run run) {
        Check.contains(run.out, "three slow orders", "what was said");
        JsonObject groups = run.report().json.getAsJsonObject("groups");
        Check.equal(4, groups.size(), "groups: " + groups);
        JsonObject orders = groups.getAsJsonObject("orders");
        Check.equal(100, orders.get("tasks").getAsLong(), "orders");
        Check.atLeast(10, orders.getAsJsonObject("tasks_of_ms").get("16").getAsLong(), "orders of 16 ms and more");
        // Each order has slept for at least a millisecond, and ten of them for thirty.
        Check.atLeast(90 + 300, orders.get("blocked_ms").getAsDouble(), "time blocked");
        double work = groups.getAsJsonObject("tenant 2").get("cpu_ms").getAsDouble();
        double idle = groups.getAsJsonObject("tenant 0").get("cpu_ms").getAsDouble();
        Check.that(work > 3 * idle, "who works has " + work + " ms of CPU time, who does not " + idle);
        try {
            String table = Tool.vouch(run.dir, "groups", "profile.json").text;
            Check.that(table.contains("orders") && table.contains("tenant 2"), "the command's table: " + table);
            both(Tool.vouch(run.dir, "groups", "--json", "profile.json", "report.json").text);
        } catch (IOException | InterruptedException error) {
            throw new AssertionError(error);
        }
    }

    private static void both(String json) {
        JsonObject both = JsonParser.parseString(json).getAsJsonObject();
        Check.equal(200, both.getAsJsonObject("orders").get("tasks").getAsLong(), "orders of two files");
    }
}
