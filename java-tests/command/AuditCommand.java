/*
 * A program emits a JFR event on each of several call paths, over and over. Its recording is true,
 * so `vouch audit` must refute none of it. Then the recording is forged: one class gets another's
 * name, in a known number of stacks. Exactly these stacks must be refuted. A damaged recording must
 * give an error, never a crash.
 *
 * @test
 * @summary Recordings of Flight Recorder's, held to the bytecode
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=300 AuditCommand
 */

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;

import com.google.gson.Gson;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

import dev.vouch.test.Check;
import dev.vouch.test.Mark;
import dev.vouch.test.Profile;
import dev.vouch.test.Run;
import dev.vouch.test.Scale;
import dev.vouch.test.Skip;
import dev.vouch.test.Tool;
import dev.vouch.test.Vm;
import jdk.jfr.Event;
import jdk.jfr.Name;

public class AuditCommand {
    private static final int ROUNDS = 300;
    /** One event in this many passes through the class that gets another name. */
    private static final int ONE_IN = 5;
    /** How many call paths lead to an event. Each round takes all of them. */
    private static final int WAYS = 6;
    private static final int DAMAGED = Scale.pick(15, 40);
    private static final String KIND = "shop.Order";

    public static void main(String[] args) throws Exception {
        try {
            Class.forName("jdk.jfr.Event");
        } catch (ClassNotFoundException none) {
            Skip.unless(false, "this JDK has no Flight Recorder");
        }
        Run run = Vm.without().flags("-Xmx256m", "-XX:StartFlightRecording=filename=app.jfr").run(Program.class).ok();
        Path dir = run.dir;
        JsonObject report = audited(dir, "app.jfr");
        truth(report);
        shown(dir, report);
        lie(dir);
        mistakes(dir);
        damaged(dir);
    }

    private static JsonObject audited(Path dir, String recording) throws Exception {
        String said = Tool.vouch(dir, "audit", recording, "--report", "audit.json", "--out", "audit.json.gz", "--out", "audit.html").ok();
        Check.contains(said, "open audit.json.gz at", "what to do with it");
        System.out.println(said);
        Check.atMost(8, said.split("\n").length, "lines of the summary");
        return new Gson().fromJson(new String(Files.readAllBytes(dir.resolve("audit.json")), StandardCharsets.UTF_8), JsonObject.class);
    }

    private static long figure(JsonObject of, String... keys) {
        JsonElement figure = of;
        for (String key : keys) {
            figure = figure.getAsJsonObject().get(key);
        }
        return figure.getAsLong();
    }

    /** An audit refutes no true stack, and judges nearly all of them. */
    private static void truth(JsonObject report) {
        Check.equal(WAYS * ROUNDS, figure(report, "kinds", KIND, "fates", "signals"), "orders");
        Check.equal(0L, figure(report, "kinds", KIND, "fates", "refuted"), "orders that are refuted");
        Check.equal(0L, figure(report, "edges", "refuted"), "edges that are refuted: " + report.get("refutations"));
        // Reflection and method handles call the method through generated classes, which are in no
        // class file.
        Check.atLeast(0.9 * figure(report, "edges", "checked"), figure(report, "edges", "judged"), "edges that were judged");
        Check.atLeast((WAYS - 2) * ROUNDS, figure(report, "kinds", KIND, "fates", "proven"), "orders that are proven");
        for (String corruption : new String[] {"dropped_frames", "foreign_frames", "moved_bcis"}) {
            long tried = figure(report, "power", corruption, "tried");
            Check.atLeast(100, tried, "trials of " + corruption);
            Check.atLeast(0.5 * tried, figure(report, "power", corruption, "noticed"), corruption + " that are noticed");
        }
    }

    /**
     * The profile has the samples that the report counts, each with its fate, and all orders with
     * their stacks.
     */
    private static void shown(Path dir, JsonObject report) {
        Profile profile = Profile.read(dir.resolve("audit.json.gz"));
        long lost = figure(report, "samples", "dropped");
        Check.equal(figure(report, "samples", "signals") - lost, (long) profile.samples().size(), "samples");
        Check.equal(report.get("samples"), profile.meta.getAsJsonObject("vouch").get("samples"), "their fates");
        List<Mark> orders = profile.marks("jfr." + KIND);
        Check.equal(WAYS * ROUNDS, orders.size(), "orders in the timeline");
        double lasted = report.get("wall_ms").getAsDouble();
        for (Mark order : orders) {
            Check.that(order.has("AuditCommand$Program.order"), "its stack: " + order);
            Check.equal("main", order.track.name, "its thread");
            Check.between(0.0, order.startMs, lasted, "when it was");
        }
        Check.equal(0, profile.markers("refuted").size(), "what is refuted");
    }

    /**
     * Forges the recording: it names `Off` where the program ran `One`. The caller calls a method
     * of `Way`, and `Off` is no subclass of `Way`.
     */
    private static void lie(Path dir) throws Exception {
        byte[] bytes = Files.readAllBytes(dir.resolve("app.jfr"));
        String one = Program.class.getName() + "$One";
        int renamed = 0;
        for (int at = 0; at + 1 + one.length() <= bytes.length; at++) {
            if (bytes[at] == one.length() && new String(bytes, at + 1, one.length(), StandardCharsets.ISO_8859_1).equals(one)) {
                System.arraycopy("Off".getBytes(StandardCharsets.ISO_8859_1), 0, bytes, at + 1 + one.length() - 3, 3);
                renamed++;
            }
        }
        Check.atLeast(1, renamed, "places where the class's name stands");
        Files.write(dir.resolve("lie.jfr"), bytes);
        JsonObject report = audited(dir, "lie.jfr");
        Check.equal(ROUNDS / ONE_IN, figure(report, "kinds", KIND, "fates", "refuted"), "orders that went by the class");
        Check.equal(1L, figure(report, "edges", "refuted"), "edges that are refuted");
        JsonArray refutations = report.getAsJsonArray("refutations");
        Check.equal("other_callee", refutations.get(0).getAsJsonObject().get("kind").getAsString(), "how");
        String explained = Tool.vouch(dir, "explain", "audit.json", "1").ok();
        Check.contains(explained, "invokevirtual AuditCommand$Program$Way.go(int)", "what the bytecode calls");
        Check.contains(explained, "AuditCommand$Program$Off.go(int)", "what the recording has");
        Profile profile = Profile.read(dir.resolve("audit.json.gz"));
        List<Mark> orders = profile.marks("jfr." + KIND);
        Check.equal(WAYS * ROUNDS, orders.size(), "orders in the timeline");
        orders.removeIf(order -> !order.has("[refuted: other_callee]"));
        Check.equal(ROUNDS / ONE_IN, orders.size(), "orders that stand apart");
        for (Mark order : orders) {
            Check.that(order.has("[✗ no such call: the bytecode calls AuditCommand$Program$Way.go(int)]"), "the place: " + order);
        }
        // A sample that JFR took itself may contain the same call.
        Check.equal(figure(report, "refuted", "other_callee"), (long) profile.markers("refuted").size(), "markers of what is refuted");
        Check.equal(explained, Tool.vouch(dir, "explain", "audit.json.gz", "1").ok().replace("audit.json.gz", "audit.json"),
                "the profile explains it as the report does");
        String compared = Tool.vouch(dir, "audit", "--compare", "app.jfr", "lie.jfr").ok();
        Check.contains(compared, "lie.jfr", "two recordings side by side");
    }

    private static void mistakes(Path dir) throws Exception {
        Check.contains(refused(dir, "audit", "nowhere.jfr"), "nowhere.jfr cannot be read", "a file that is not there");
        Files.write(dir.resolve("other.txt"), "hello world\n".getBytes(StandardCharsets.UTF_8));
        Check.contains(refused(dir, "audit", "other.txt"), "cannot be audited", "a file of another kind");
        Check.contains(refused(dir, "audit", "audit.json"), "is not a profile", "a report");
        Files.write(dir.resolve("other.json"), "{\"meta\": {}}".getBytes(StandardCharsets.UTF_8));
        Check.contains(refused(dir, "audit", "other.json"), "is not a profile", "JSON of another kind");
        Check.contains(refused(dir, "audit", "app.jfr", "--jdk", "."), "is not a JDK", "a folder that is no JDK");
        Check.contains(refused(dir, "audit", "app.jfr", "--classes", "nowhere"), "does not exist", "classes that are not there");
        Check.contains(refused(dir, "audit", "app.jfr", "--report", "app.jfr"), ".json", "a report in the recording's place");
        Files.copy(dir.resolve("app.jfr"), dir.resolve("app.json"));
        Check.contains(refused(dir, "audit", "app.json", "--out", "app.json"), "is the recording itself", "a profile in its place");
        String twice = refused(dir, "audit", "app.jfr", "--out", "a.html", "--out", "./a.html");
        Check.contains(twice, "app.jfr cannot be written twice to ./a.html", "two profiles in one place");
        String nothing = refused(dir, "audit", "app.jfr", "--out", "a.html", "--samples", "jdk.Nothing");
        Check.contains(nothing, "app.jfr has no samples jdk.Nothing, but", "samples that are not there");
    }

    private static String refused(Path dir, String... arguments) throws Exception {
        Tool tool = Tool.vouch(dir, arguments);
        Check.equal(1, tool.exit, "exit code: " + tool.text);
        return tool.text;
    }

    private static void damaged(Path dir) throws Exception {
        byte[] whole = Files.readAllBytes(dir.resolve("app.jfr"));
        Random random = new Random(42);
        for (int i = 0; i < DAMAGED; i++) {
            byte[] bytes = whole.clone();
            int length = i % 2 == 0 ? bytes.length : random.nextInt(bytes.length);
            for (int j = 0; j < 20; j++) {
                bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
            }
            Files.write(dir.resolve("damaged.jfr"), java.util.Arrays.copyOf(bytes, length));
            Tool.vouch(dir, "audit", "damaged.jfr");
        }
    }

    public static class Program {
        @Name(KIND)
        static class Order extends Event {
            int number;
        }

        interface Seller {
            void sell(int number);
        }

        abstract static class Way {
            abstract void go(int number);
        }

        static class Two extends Way {
            void go(int number) {
                order(number);
            }
        }

        // Both classes share a line, so that only the call into them can distinguish them.
        static class One extends Way { void go(int number) { order(number); } } static class Off { void go(int number) { order(number); } }

        static void order(int number) {
            Order order = new Order();
            order.number = number;
            order.commit();
        }

        static void deep(int depth, int number) {
            if (depth == 0) {
                order(number);
            } else {
                deep(depth - 1, number);
            }
        }

        static void sell(Seller seller, int number) {
            seller.sell(number);
        }

        public static void main(String[] args) throws Throwable {
            Method method = Program.class.getDeclaredMethod("order", int.class);
            MethodHandle handle = MethodHandles.lookup().findStatic(Program.class, "order", MethodType.methodType(void.class, int.class));
            for (int round = 0; round < ROUNDS; round++) {
                Way way = round % ONE_IN == 0 ? new One() : new Two();
                way.go(round);
                deep(20, round);
                sell(number -> order(number), round);
                IntStream.of(round).forEach(Program::order);
                method.invoke(null, round);
                handle.invokeExact(round);
            }
        }
    }
}
