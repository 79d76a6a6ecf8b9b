/*
 * The program of docs/contexts.md, as a reader would take it from there: it is compiled and run, and its profile says what the page says
 * of it. A page whose program does not work is worse than none.
 *
 * @test
 * @summary the program of docs/contexts.md works, and its users are told apart
 * @library /lib /api/src
 * @build dev.vouch.test.* dev.vouch.Vouch
 * @run main/timeout=200 Documented
 */

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.TreeSet;

import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.Skip;
import dev.vouch.test.Vm;

public class Documented {
    public static void main(String[] args) throws IOException {
        Skip.unless(Vm.major() >= 16, "records are newer than JDK " + Vm.major());
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        Skip.unless(compiler != null, "this is no JDK but a JRE: it has no compiler");
        Path classes = Files.createDirectories(Paths.get("documented"));
        Path source = classes.resolve("FileServer.java");
        Files.write(source, program().getBytes(StandardCharsets.UTF_8));
        int compiled = compiler.run(null, null, null, "-cp", Vm.classPath(), "-d", classes.toString(), source.toString());
        Check.equal(0, compiled, "exit code of the compiler");
        String path = classes.toAbsolutePath() + java.io.File.pathSeparator + Vm.classPath();
        check(Vm.with("interval=1ms").runCommand("-cp", path, "FileServer").ok());
        // Without the agent it runs as well.
        Vm.without().runCommand("-cp", path, "FileServer").ok();
    }

    /** What stands between the first fence of Java and the next one. */
    private static String program() throws IOException {
        Path page = Paths.get(System.getProperty("test.root")).resolve("../docs/contexts.md");
        String text = new String(Files.readAllBytes(page), StandardCharsets.UTF_8);
        int begin = text.indexOf("```java\n");
        Check.that(begin >= 0, "no program in " + page);
        begin += "```java\n".length();
        return text.substring(begin, text.indexOf("```", begin));
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
            if (sample.leaf().subcategory.equals("proven") && sample.has("FileServer.serve") && sample.says("user") != null) {
                stores += sample.says("action").equals("store") ? sample.weight : 0;
                fetches += sample.says("action").equals("fetch") ? sample.weight : 0;
            }
        }
        // As many stores as fetches, each of which is three times the work. (The first of them is a fetch, and is not compiled yet.)
        Check.that(fetches > 0 && stores > 1.5 * fetches, "weight of stores, " + stores + ", against that of fetches, " + fetches);
    }
}
