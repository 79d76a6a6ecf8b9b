import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

import org.eclipse.jdt.core.compiler.batch.BatchCompiler;

/**
 * Eclipse's compiler on the sources of Commons Math, some 900 files a round. It is a compiler other
 * than javac, and uses its own thread. Every round must give the same classes, and they must
 * compute correctly. Arguments: seconds, an output folder, the folder of the sources.
 */
public final class Compiler {
    private static final String PRIMES = "org.apache.commons.math3.primes.Primes";

    private Compiler() {}

    public static void main(String[] args) throws IOException {
        Path output = Paths.get(args[1], "classes");
        List<String> sources = new Tree(Paths.get(args[2])).sources();
        List<String> command = new ArrayList<>();
        Collections.addAll(command, "-8", "-nowarn", "-proc:none", "-encoding", "UTF-8", "-d", output.toString());
        command.addAll(sources);
        List<String> first = new ArrayList<>();
        Rounds.run(args[0], "ecj on " + sources.size() + " files", () -> {
            StringWriter said = new StringWriter();
            PrintWriter printer = new PrintWriter(said);
            boolean compiled = BatchCompiler.compile(command.toArray(new String[0]), printer, printer, null);
            Rounds.check(compiled, "ecj failed: " + said);
            String classes = new Tree(output).classes();
            if (first.isEmpty()) {
                first.add(classes);
            }
            Rounds.same(first, Arrays.asList(classes), "what the first round and this one compiled");
            compute(output);
        });
    }

    private static void compute(Path classes) throws Exception {
        try (URLClassLoader loader = new URLClassLoader(new URL[] {classes.toUri().toURL()})) {
            Class<?> primes = loader.loadClass(PRIMES);
            Rounds.same(1_000_003, primes.getMethod("nextPrime", int.class).invoke(null, 1_000_000), "the next prime");
            Rounds.same(Arrays.asList(2, 2, 3, 83, 10_007), primes.getMethod("primeFactors", int.class)
                .invoke(null, 12 * 83 * 10_007), "the prime factors");
        }
    }
}
