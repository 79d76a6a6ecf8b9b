import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.LongSupplier;
import javax.tools.ToolProvider;
import sun.jvmstat.monitor.LongMonitor;
import sun.jvmstat.monitor.MonitoredHost;
import sun.jvmstat.monitor.VmIdentifier;

/**
 * Lets the JVM compile methods, as many as it can. Needs the flags of `cargo xtask page
 * event-cost`, by which a method is compiled at its second call, once, while its caller waits.
 *
 * <p>A round loads one class of many methods by a new loader, so the class itself costs little. The
 * JVM's own counter counts the compilations.
 */
final class Compilations {
    private static final int METHODS = 500;
    /** A method is compiled at its second call. The third runs the compiled code. */
    private static final int CALLS = 3;
    private final URL[] folder;
    private final LongMonitor compiled;
    private long rounds;
    private long sum;

    Compilations() throws Exception {
        folder = new URL[] {source().toUri().toURL()};
        VmIdentifier own = new VmIdentifier("//" + ProcessHandle.current().pid());
        compiled = (LongMonitor) MonitoredHost.getMonitoredHost(own).getMonitoredVm(own).findByName("sun.ci.standardCompiles");
    }

    void round() throws ReflectiveOperationException, IOException {
        try (URLClassLoader loader = new URLClassLoader(folder)) {
            LongSupplier many = (LongSupplier) loader.loadClass("Many").getDeclaredConstructor().newInstance();
            for (int call = 0; call < CALLS; call++) {
                sum += many.getAsLong();
            }
        }
        rounds++;
    }

    long count() {
        return compiled.longValue();
    }

    long methods() {
        return rounds * METHODS;
    }

    /** Compiles a class of methods with a loop and an inlined call. Returns its folder. */
    private static Path source() throws IOException {
        StringBuilder calls = new StringBuilder();
        StringBuilder methods = new StringBuilder();
        for (int at = 0; at < METHODS; at++) {
            calls.append("sum += step").append(at).append("(1);\n");
            methods.append("static int step").append(at).append("(int n) { int sum = ").append(at)
                .append("; for (int i = 0; i < n; i++) { sum += Math.max(i, sum ^ n); } return sum; }\n");
        }
        Path folder = Files.createTempDirectory("compilations");
        Path file = Files.writeString(folder.resolve("Many.java"), "public class Many implements java.util.function.LongSupplier {\n"
            + "public long getAsLong() { long sum = 0; " + calls + "return sum; }\n" + methods + "}\n");
        int code = ToolProvider.getSystemJavaCompiler().run(null, null, null, "-d", folder.toString(), file.toString());
        if (code != 0) {
            throw new IOException("javac ended with " + code);
        }
        Runtime.getRuntime().addShutdownHook(new Thread(() -> remove(folder)));
        return folder;
    }

    private static void remove(Path folder) {
        try {
            for (String name : new String[] {"Many.java", "Many.class", ""}) {
                Files.delete(folder.resolve(name));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
