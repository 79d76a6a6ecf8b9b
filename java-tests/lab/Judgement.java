/*
 * Tests the lab's own verdicts. A scenario must fail on an unexpected difference and on an expected
 * one that is missing, and must name it. With correct expectations it must pass. Real scenarios run
 * here against fake expectations.
 *
 * @test
 * @summary a new difference and one that is gone are both news
 * @library /lib
 * @build dev.vouch.test.* dev.vouch.lab.* dev.vouch.Oracle Direct Recursion
 * @run main Judgement
 */

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import com.google.gson.Gson;

import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Vm;

public class Judgement {
    public static void main(String[] args) throws IOException {
        Check.equal(0, judged(Direct.class, "").exit, "exit code where nothing differs and nothing is expected");

        Run gone = judged(Direct.class, "Direct.static | all | 8- | truncated | none known | made up");
        Check.that(gone.exit != 0, "an expected difference that was not found passes");
        Check.contains(String.join("\n", gone.err), "Direct.static (xint): gone: truncated", "what is said of it");

        Run fresh = judged(Recursion.class, "");
        Check.that(fresh.exit != 0, "a difference that was not expected passes");
        Check.contains(String.join("\n", fresh.err), "Recursion.static-cut-cold (xint): new: direct:cut", "what is said of it");

        String all = "Recursion.*-cut-cold | xint | 8- | cut own:cut | none known | made up";
        Check.equal(0, judged(Recursion.class, all).exit, "exit code where all that differs is expected");
        Run own = judged(Recursion.class, all.replace(" own:cut", ""));
        Check.that(own.exit != 0, "a difference of the own walker's that was not expected passes");
        Check.contains(String.join("\n", own.err), "Recursion.static-cut-cold (xint): new: own-direct:cut", "what is said of it");

        for (String wrong : new String[] {
            "Nosuch.static | all | 8- | cut | none known | made up", "Direct.static | all,xint | 8- | cut | none known | made up",
            "Direct.static | all | late | cut | none known | made up", "Direct.static | all | 8- | trunc | none known | made up",
            "Direct.static | all | 8- | cut | none known",
        }) {
            Run refused = judged(Direct.class, wrong);
            Check.that(refused.exit != 0, "a row that says nothing passes: " + wrong);
            Check.contains(String.join("\n", refused.err), "expectations.txt:1: ", "what is said of " + wrong);
        }

        Run unknown = judged(Direct.class, "Direct.statics | all | 8- | truncated | none known | made up");
        Check.that(unknown.exit != 0, "a row about a case that does not exist passes");
        Check.contains(String.join("\n", unknown.err), "no case statics", "what is said of it");
    }

    /** Runs a scenario's test with these expectations, in the interpreter only. */
    private static Run judged(Class<?> scenario, String expectations) throws IOException {
        Path root = Files.createTempDirectory(Paths.get("").toAbsolutePath(), "root-");
        Files.createDirectories(root.resolve("lab"));
        Files.write(root.resolve("lab/expectations.txt"), expectations.getBytes(StandardCharsets.UTF_8));
        List<String> flags = new ArrayList<>(Arrays.asList("-Dtest.root=" + root));
        for (String property : new String[] {"test.nativepath", "test.class.path", "test.jdk", "test.src"}) {
            flags.add("-D" + property + "=" + System.getProperty(property));
        }
        String gson = Gson.class.getProtectionDomain().getCodeSource().getLocation().getPath();
        flags.addAll(Arrays.asList("-cp", Vm.classPath() + File.pathSeparator + gson, scenario.getName()));
        return Vm.without().env("VOUCH_LAB_MODES", "xint").env("VOUCH_LAB_RESULTS", "").runCommand(flags.toArray(new String[0]));
    }
}
