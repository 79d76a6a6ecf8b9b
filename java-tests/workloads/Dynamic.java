import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;

import groovy.lang.GroovyClassLoader;
import groovy.lang.Script;
import org.codehaus.groovy.runtime.InvokerHelper;

/**
 * Groovy, which compiles nearly each call to an invokedynamic: method handles, guards that fail,
 * call sites that are linked again. Each round compiles the script anew and runs it. Arguments:
 * seconds, a folder, the script.
 */
public final class Dynamic {
    /**
     * All results can be calculated by hand: counts by kind, money, a sum, a Fibonacci number, a
     * hash, exceptions, a page.
     */
    private static final String EXPECTED = "integer=100,list of integer/text=100,number=200,object=100,text=200"
        + "|897.00|30000|144|157918336|1010|<page><title>tsrif</title><body><p>x</p><p>y</p></body></page>";
    private static final int RUNS = 10;

    private Dynamic() {}

    public static void main(String[] args) throws IOException {
        String text = new String(Files.readAllBytes(Paths.get(args[2])), StandardCharsets.UTF_8);
        Rounds.run(args[0], "Groovy with " + RUNS + " runs", () -> {
            try (GroovyClassLoader loader = new GroovyClassLoader()) {
                Class<?> type = loader.parseClass(text, "features.groovy");
                for (int i = 0; i < RUNS; i++) {
                    Script script = (Script) type.getDeclaredConstructor().newInstance();
                    Rounds.same(EXPECTED, script.run().toString(), "the answer");
                }
                InvokerHelper.removeClass(type);
            }
        });
    }
}
