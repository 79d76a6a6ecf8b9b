/*
 * The profile of scripts/file-server must say which user did what to which file. Each action has
 * its own method, so a sample under another action's name is noticed. Flame graphs and folded
 * stacks must have the same times as the table.
 *
 * @test
 * @summary the file server's profile separates users, actions and files, in tables and in stacks
 * @key newest
 * @library /lib /api/src
 * @build dev.vouch.test.* FileServer
 * @run main/timeout=200 FileServerProfile
 */

import java.io.IOException;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.List;
import java.util.TreeMap;
import java.util.TreeSet;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import dev.vouch.test.Check;
import dev.vouch.test.Mark;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.Tool;
import dev.vouch.test.Vm;

public class FileServerProfile {
    private static final TreeSet<String> USERS = new TreeSet<>(Arrays.asList("curly", "larry", "moe"));

    public static void main(String[] args) throws Exception {
        Run run = Vm.with("interval=1ms").flags("-Ddemo.seconds=2").run(FileServer.class).ok();
        Check.that(run.out.get(run.out.size() - 1).matches("the file server has ended: [0-9]{2,} requests"), "it served: " + run.out);
        TreeSet<String> users = new TreeSet<>();
        for (Sample sample : run.profile().samples()) {
            if (sample.leaf().isRefuted()) {
                continue;
            }
            for (String action : new String[] {"store", "fetch", "search"}) {
                if (sample.has("FileServer." + action)) {
                    Check.equal(action, sample.says("action"), "what is said of " + sample);
                    users.add(sample.says("user"));
                }
            }
            Check.that(!sample.has("FileServer$User.run") || sample.says("user") == null, "a user's own time is the server's work: " + sample);
        }
        Check.equal(USERS, users, "users whose files were worked on");
        List<Mark> stored = run.profile().marks("marker:FileServer$Stored");
        Check.atLeast(12, stored.size(), "markers of files that were stored, among the first four of each user");
        Check.atLeast(stored.size(), run.report().json.getAsJsonObject("groups").getAsJsonObject("store").get("tasks").getAsLong(), "tasks");
        drawn(run);
    }

    /** The folded stacks by user and action have the same times as the table. */
    private static void drawn(Run run) throws IOException, InterruptedException {
        Tool.vouch(run.dir, "flame", "profile.json", "--by", "user", "--by", "action", "--out", "by.folded").ok();
        TreeMap<String, Double> drawn = new TreeMap<>();
        double intervalMs = run.report().intervalUs() / 1e3;
        for (String line : Files.readAllLines(run.dir.resolve("by.folded"))) {
            String[] rows = line.split(";");
            Check.that(rows[0].matches("user=.*|\\[no user\\]|\\[the VM itself\\]"), "who it was for: " + line);
            Check.that(!line.contains(";FileServer.store") || rows[1].equals("action=store"), "what for: " + line);
            if (rows[0].startsWith("user=")) {
                drawn.merge(rows[0].substring("user=".length()), intervalMs * Long.parseLong(line.substring(line.lastIndexOf(' ') + 1)), Double::sum);
            }
        }
        JsonObject table = JsonParser.parseString(Tool.vouch(run.dir, "top", "profile.json", "--by", "user", "--json").ok()).getAsJsonObject();
        for (JsonElement row : table.getAsJsonArray("rows")) {
            String user = row.getAsJsonObject().get("name").getAsString();
            Check.near(row.getAsJsonObject().get("ms").getAsDouble(), drawn.getOrDefault(user, 0.0), 0.01, "CPU time of " + user + ", in ms");
        }
        Check.equal(USERS, new TreeSet<>(drawn.keySet()), "users in the stacks");
    }
}
