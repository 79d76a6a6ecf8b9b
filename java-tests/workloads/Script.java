import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;

import org.mozilla.javascript.Context;
import org.mozilla.javascript.Function;
import org.mozilla.javascript.Scriptable;

/**
 * Rhino runs JavaScript, interpreted and compiled. So a thread is deep in an interpreter's loop, or
 * in classes that were generated a moment ago. Both modes must give the same result. Arguments:
 * seconds, a folder, the script.
 */
public final class Script {
    /**
     * The results by part of the script: queens and primes; areas of shapes; words and parts;
     * frames; 100 × 1 + 200 × 2 + 3000.
     */
    private static final String EXPECTED = "4|669|disc:804.25 disc:78.54 disc:0.00|1000 201|100|3500";
    /**
     * Interpreted, and compiled. The level is never above 0, where Rhino 1.7.15.1 reports a
     * recursion depth of 0.
     */
    private static final int[] LEVELS = {-1, 0};
    private static final int CALLS = 3;

    private Script() {}

    public static void main(String[] args) throws IOException {
        String script = new String(Files.readAllBytes(Paths.get(args[2])), StandardCharsets.UTF_8);
        Rounds.run(args[0], "Rhino in " + LEVELS.length + " modes", () -> {
            for (int level : LEVELS) {
                Context context = Context.enter();
                try {
                    context.setOptimizationLevel(level);
                    Scriptable scope = context.initStandardObjects();
                    context.evaluateString(scope, script, "algorithms.js", 1, null);
                    Function everything = (Function) scope.get("everything", scope);
                    for (int i = 0; i < CALLS; i++) {
                        Object answer = everything.call(context, scope, scope, new Object[0]);
                        Rounds.same(EXPECTED, Context.toString(answer), "the answer at level " + level);
                    }
                } finally {
                    Context.exit();
                }
            }
        });
    }
}
