/*
 * A program's classes take a known time to load and to initialise, one nested in the other.
 *
 * @test
 * @summary what its classes and its compilers took, as the JVM adds it up
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=300 ClassAndCompilerTotals
 */

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;

import com.google.gson.JsonObject;

import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Vm;

public class ClassAndCompilerTotals {
    /** Each class loads another one while it is initialised. */
    private static final int PAIRS = 8;
    private static final int LOADING_MS = 60;
    private static final int INITIALIZING_MS = 20;
    /** By the JVM's clock, a sleep may end a little early. */
    private static final double TICK_MS = 1;

    public static void main(String[] args) {
        // One program sleeps while the other one runs.
        try (Running child = Vm.with("").flags("-Xmx128m").start(Program.class, "" + PAIRS)) {
            Run without = Vm.with("").flags("-Xmx128m", "-XX:-UsePerfData").run(Program.class, "1").ok();
            for (String figure : new String[] {"safepoints", "classes", "compilers"}) {
                Check.that(without.report().json.get(figure).isJsonNull(), figure + " without the JVM's counters");
            }
            took(child.waitFor().ok());
        }
    }

    private static void took(Run run) {
        JsonObject classes = run.report().json.getAsJsonObject("classes");
        double loading = classes.get("loading_ms").getAsDouble();
        double initializing = classes.get("initializing_ms").getAsDouble();
        Check.atLeast(2 * PAIRS * (LOADING_MS - TICK_MS), loading, "time that classes were loaded");
        Check.atLeast(2 * PAIRS * (INITIALIZING_MS - TICK_MS), initializing, "time that they were initialised");
        // One thread does nearly all work on classes. If a nested time counted twice, the sum would
        // exceed the run's length.
        Check.between(0, loading + initializing + classes.get("linking_ms").getAsDouble(), run.report().wallMs(), "all of that, in ms");
        Check.atLeast(2 * PAIRS, classes.get("loaded").getAsLong(), "classes that were loaded");
        Check.atLeast(2 * PAIRS, classes.get("initialized").getAsLong(), "classes that were initialised");
        if (!run.report().vmFlags().contains("-Xint")) {
            JsonObject compilers = run.report().json.getAsJsonObject("compilers");
            Check.atLeast(1, compilers.get("compiled").getAsLong(), "what was compiled");
            Check.that(compilers.get("took_ms").getAsDouble() > 0, "it took some time: " + compilers);
        }
    }

    static class Program {
        public static void main(String[] args) throws Exception {
            for (int i = 0; i < Integer.parseInt(args[0]); i++) {
                // Each loader defines its own classes.
                Class.forName("ClassAndCompilerTotals$One", true, new Slow());
            }
        }
    }

    /** Delays the loading of two classes by a known time. */
    static class Slow extends ClassLoader {
        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.equals("ClassAndCompilerTotals$One") && !name.equals("ClassAndCompilerTotals$Another")) {
                return super.loadClass(name, resolve);
            }
            sleep(LOADING_MS);
            try (InputStream in = ClassAndCompilerTotals.class.getResourceAsStream("/" + name + ".class")) {
                ByteArrayOutputStream bytes = new ByteArrayOutputStream();
                for (int next = in.read(); next >= 0; next = in.read()) {
                    bytes.write(next);
                }
                return defineClass(name, bytes.toByteArray(), 0, bytes.size());
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    static class One {
        static {
            sleep(INITIALIZING_MS);
            Another.touch();
        }
    }

    static class Another {
        static {
            sleep(INITIALIZING_MS);
        }

        static void touch() {
        }
    }

    public static void sleep(int ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
