/*
 * Threads of real programs are stopped anywhere and asked about: javac while it compiles the JDK's
 * java.xml, and a web server under load. The true stacks are unknown, but there are very many. The
 * witness counts as the truth, and each difference must be of a known kind. There are thousands of
 * questions, or with VOUCH_SCALE=full a million, for 400 s at most.
 *
 * @test
 * @summary very many suspended threads of javac and of a web server
 * @library /lib
 * @build dev.vouch.test.* dev.vouch.lab.* dev.vouch.Oracle
 * @run main/timeout=3600 Suspended
 */

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;

import com.sun.net.httpserver.HttpServer;

import dev.vouch.Oracle;
import dev.vouch.lab.Ask;
import dev.vouch.lab.Lab;
import dev.vouch.lab.Mode;
import dev.vouch.lab.Scenario;
import dev.vouch.test.Scale;
import dev.vouch.test.Sources;

public class Suspended extends Scenario {
    /** Deeper than any stack of these programs. */
    private static final int DEPTH = 4000;
    /** The latest end of the short form: on JDKs 8 and 11 each question stops all threads. */
    private static final int SHORT_SECONDS = 20;
    private static final int SECONDS = 400;
    private static final long PAUSE_NS = 500_000;
    /** The list of threads is renewed after this many questions. */
    private static final int FRESH = 64;

    /** How many rounds of work the program has done. */
    private static final AtomicLong ROUNDS = new AtomicLong();
    private static volatile String failed;

    public static void main(String[] args) throws Throwable {
        Lab.main(new Suspended(), args);
    }

    @Override
    protected String[] cases() {
        return new String[] {"javac", "server"};
    }

    @Override
    protected int patience() {
        return Scale.pick(240, SECONDS + 200);
    }

    @Override
    protected String unfit(String name, int jdk, Mode mode) {
        if (mode != Mode.MIXED) {
            return "real programs are asked in mixed mode alone";
        }
        try {
            boolean able = !name.equals("javac") || ToolProvider.getSystemJavaCompiler() != null && Sources.find() != null;
            return able ? null : "this JDK has no javac, or none of its sources: scripts/jdks --sources";
        } catch (IOException error) {
            return "the sources for javac cannot be read: " + error;
        }
    }

    @Override
    protected String[] flags(String name) {
        List<String> flags = new ArrayList<>();
        flags.add("-Xmx1g");
        flags.add("-Dlab.questions=" + Scale.pick(4_000, 500_000));
        flags.add("-Dlab.seconds=" + Scale.pick(SHORT_SECONDS, SECONDS));
        if (name.equals("javac")) {
            try {
                Path list = Paths.get("files").toAbsolutePath();
                Path output = Paths.get("classes").toAbsolutePath();
                Path sources = Sources.find();
                flags.add("-Dlab.javac="
                    + String.join(" ", Sources.javacArguments(sources, Sources.files(sources), list, output)));
            } catch (IOException error) {
                throw new AssertionError("the sources cannot be prepared", error);
            }
        }
        return flags.toArray(new String[0]);
    }

    @Override
    protected void run(String name) throws Exception {
        ROUNDS.set(0);
        HttpServer server = null;
        if (name.equals("javac")) {
            work("javac", Suspended::compile);
        } else {
            server = serve();
            URL url = new URL("http", "127.0.0.1", server.getAddress().getPort(), "/numbers");
            for (int client = 0; client < 4; client++) {
                work("client " + client, () -> request(url));
            }
            // Waits for the first round, since the questions are not about the server's start.
            while (ROUNDS.get() == 0 && failed == null) {
                Thread.sleep(1);
            }
        }
        Map<String, String> examples = new TreeMap<>();
        Map<String, Map<String, Long>> found = ask(Integer.getInteger("lab.questions"), examples);
        String failure = failed;
        if (server != null) {
            server.stop(0);
        }
        Ask.trigger(failure == null, "the program failed: " + failure);
        found.forEach((way, tally) -> tally.forEach((kinds, count) -> Ask.tally(way, kinds, count, examples.get(way + kinds))));
    }

    /** Asks about one thread after another until there are enough answers. */
    private static Map<String, Map<String, Long>> ask(int questions, Map<String, String> examples) {
        Map<String, Map<String, Long>> found = new TreeMap<>();
        List<String> ways = new ArrayList<>(WAYS);
        // Vouch's own walker does not support every JVM; such a JVM has no answers by it.
        ways.removeIf(way -> way.startsWith("own") && Ask.kinds(Oracle.self(DEPTH), "own-direct") == null);
        ways.forEach(way -> found.put(way, new TreeMap<>()));
        Thread[] threads = new Thread[0];
        int at = 0;
        long answers = 0;
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(Integer.getInteger("lab.seconds"));
        for (long asked = 0; answers < questions && failed == null && System.nanoTime() < end; asked++) {
            if (asked % FRESH == 0) {
                threads = others();
            }
            at = (at + 1) % threads.length;
            if (at == 0) {
                // Lets the program run between two questions.
                LockSupport.parkNanos(PAUSE_NS);
            }
            String difference = Oracle.difference(threads[at], DEPTH);
            // A thread may have ended meanwhile.
            boolean answered = false;
            for (String way : ways) {
                String kinds = difference == null ? "same" : Ask.kinds(difference, way);
                if (kinds != null) {
                    answered = true;
                    found.get(way).merge(kinds, 1L, Long::sum);
                    if (!kinds.equals("same")) {
                        examples.putIfAbsent(way + kinds, difference);
                    }
                }
            }
            answers += answered ? 1 : 0;
        }
        return found;
    }

    /** AsyncGetCallTrace and Vouch's own walker. */
    private static final List<String> WAYS = Arrays.asList("suspended", "own-suspended");

    private static Thread[] others() {
        Thread[] all = new Thread[1000];
        ThreadGroup root = Thread.currentThread().getThreadGroup();
        while (root.getParent() != null) {
            root = root.getParent();
        }
        List<Thread> others = new ArrayList<>();
        for (int at = root.enumerate(all) - 1; at >= 0; at--) {
            if (all[at] != Thread.currentThread()) {
                others.add(all[at]);
            }
        }
        return others.toArray(new Thread[0]);
    }

    private interface Work {
        void once() throws Exception;
    }

    private static void work(String name, Work work) {
        Thread thread = new Thread(() -> {
            try {
                while (true) {
                    work.once();
                    ROUNDS.incrementAndGet();
                }
            } catch (Exception error) {
                failed = error.toString();
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
    }

    private static void compile() {
        JavaCompiler javac = ToolProvider.getSystemJavaCompiler();
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        int code = javac.run(null, said, said, System.getProperty("lab.javac").split(" "));
        if (code != 0) {
            throw new IllegalStateException("javac: " + new String(said.toByteArray(), StandardCharsets.UTF_8));
        }
    }

    /** A server with a pool of threads, which sorts and formats numbers for each request. */
    private static HttpServer serve() throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            int seed = exchange.getRequestURI().hashCode();
            String text = IntStream.range(0, 2000).mapToObj(i -> String.format("%08x", i * seed * 31))
                .sorted().collect(Collectors.joining("\n"));
            byte[] body = text.getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.setExecutor(Executors.newFixedThreadPool(4, task -> {
            Thread thread = new Thread(task);
            thread.setDaemon(true);
            return thread;
        }));
        server.start();
        return server;
    }

    private static void request(URL url) throws IOException {
        byte[] buffer = new byte[8192];
        int read = 0;
        try (InputStream in = url.openStream()) {
            for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
                read += n;
            }
        }
        if (read < 1000) {
            throw new IOException("the answer is too short: " + read);
        }
    }
}
