/*
 * With source text in the profile, the front-end shows the time of each line. The text may be
 * confidential, so it is added only on request and from the configured sources. The time of a line
 * must be shown at exactly that line.
 *
 * @test
 * @summary sources= adds the text of sampled methods to the profile, and the JDK's if it has its
 * source
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main SourceTexts
 */

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Frame;
import dev.vouch.test.Profile;
import dev.vouch.test.Run;
import dev.vouch.test.Vm;

public class SourceTexts {
    private static final String BURN = "dev/vouch/test/Burn.java";

    public static void main(String[] args) throws IOException {
        Check.that(texts(Vm.with("").run(Program.class).ok().profile()).isEmpty(), "nobody asked, and no text is there");

        // All sources of the suite are below this folder, and the program's own are scattered in
        // it.
        Path suite = Paths.get(System.getProperty("test.root"));
        Path jdk = Vm.jdk().resolve(Vm.major() == 8 ? "src.zip" : "lib/src.zip");
        boolean hasSource = Files.isReadable(jdk);
        String places = suite + (hasSource ? ":" + jdk : "");
        Run run = Vm.with("sources=" + places).run(Program.class).ok();
        Check.contains(String.join("\n", run.err), "[vouch] sources: ", "the summary tells of the texts");
        Profile profile = run.profile();
        Map<String, String> texts = texts(profile);
        Check.equal(read(suite.resolve("lib").resolve(BURN)), texts.get(BURN), "text of " + BURN);
        Check.equal(read(suite.resolve("output/SourceTexts.java")), texts.get("SourceTexts.java"), "text of the test itself");
        Check.equal(hasSource, texts.containsKey("java/util/TreeMap.java"), "the JDK's text is there if it has it: " + texts.keySet());

        // The line number of each frame leads to a line of its method.
        int checked = 0;
        for (Frame frame : profile.frames()) {
            if (frame.function.equals("dev.vouch.test.Burn.work") && frame.line > 0) {
                String line = texts.get(BURN).split("\n")[frame.line - 1];
                Check.that(line.contains("value") || line.contains("for"), "line " + frame.line + " is of work: " + line);
                checked++;
            }
        }
        Check.that(checked > 0, "work was sampled");
    }

    private static String read(Path file) throws IOException {
        return new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
    }

    /** The source texts of a profile, by file. */
    private static Map<String, String> texts(Profile profile) {
        JsonObject shared = profile.json.getAsJsonObject("shared");
        JsonArray names = shared.getAsJsonObject("sources").getAsJsonArray("filename");
        JsonArray contents = shared.getAsJsonObject("sources").getAsJsonArray("content");
        Map<String, String> texts = new LinkedHashMap<>();
        for (int row = 0; row < names.size(); row++) {
            JsonElement content = contents.get(row);
            if (!content.isJsonNull()) {
                texts.put(shared.getAsJsonArray("stringArray").get(names.get(row).getAsInt()).getAsString(), content.getAsString());
            }
        }
        return texts;
    }

    static class Program {
        public static void main(String[] args) {
            Burn.millis(300);
            Map<Integer, String> map = new TreeMap<>();
            long until = Burn.cpuNanos() + 300_000_000L;
            while (Burn.cpuNanos() < until) {
                for (int i = 0; i < 10_000; i++) {
                    map.put(i * 31 % 10_007, "");
                }
                Burn.sink += map.size();
            }
        }
    }
}
