/*
 * With `wall=on` the wall-clock time of each thread must be divided among the stacks and states in
 * which it waits. Each thread of the program spends nearly all of its life in one state, and prints
 * how long.
 *
 * @test
 * @summary wall=on: each state has the time that the program measured, at the stack that waits
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=120 WallClock
 */

import java.io.IOException;
import java.net.ServerSocket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.FixedWork;
import dev.vouch.test.Run;
import dev.vouch.test.Skip;
import dev.vouch.test.Tool;
import dev.vouch.test.Vm;

public class WallClock {
    private static final String[][] STATES = {
        {"sleeps", "\\[sleeping\\]"},
        {"parks", "\\[parked\\]"},
        {"waits", "\\[waiting\\]"},
        {"blocks", "\\[blocked on a monitor\\]"},
        {"accepts", "\\[system call p?poll\\]"},
    };
    /** The methods need some milliseconds outside of their state. */
    private static final double NEAR = 0.05;

    public static void main(String[] args) throws Exception {
        Run run = Vm.with("wall=on,measure=wall,interval=1ms,out=wall.folded").flags("-Xmx64m").run(Program.class);
        Skip.ifEngineRefused(run);
        run.ok();
        List<String> stacks = Files.readAllLines(run.dir.resolve("wall.folded"), StandardCharsets.UTF_8);
        Tool.vouch(run.dir, "flame", "profile.json", "--measure", "wall", "--out", "flame.folded").ok();
        List<String> flame = Files.readAllLines(run.dir.resolve("flame.folded"), StandardCharsets.UTF_8);
        for (String[] row : STATES) {
            String stack = ".*WallClock\\$Program\\." + row[0] + ";.*" + row[1];
            double expected = run.number(row[0]);
            Check.atLeast(1e9, expected, "time that " + row[0] + " measured");
            Check.near(expected, sum(stacks, stack), NEAR * expected, "wall-clock time of " + row[0] + " in .folded");
            Check.near(expected, sum(flame, stack), NEAR * expected, "wall-clock time of " + row[0] + " in vouch flame");
        }
        // A thread that runs has its CPU samples' stacks, without a state.
        double burned = run.number("burns_cpu");
        Check.near(burned, sum(stacks, ".*WallClock\\$Program\\.burns(;.*[^\\]])?"), 0.1 * burned, "wall-clock time of burns");

        String top = Tool.vouch(run.dir, "top", "profile.json", "--measure", "wall", "--json").ok();
        double slept = 0;
        for (JsonElement each : JsonParser.parseString(top).getAsJsonObject().getAsJsonArray("rows")) {
            JsonObject method = each.getAsJsonObject();
            if (method.get("name").getAsString().equals("[sleeping]")) {
                slept = method.get("self_ms").getAsDouble();
            }
        }
        Check.near(run.number("sleeps") / 1e6, slept, NEAR * run.number("sleeps") / 1e6, "time of [sleeping] in vouch top");

        JsonObject report = run.report().json.getAsJsonObject("wall_clock");
        double parts = report.get("running_ms").getAsDouble();
        for (Map.Entry<String, JsonElement> state : report.getAsJsonObject("state_ms").entrySet()) {
            parts += state.getValue().getAsDouble();
        }
        Check.near(report.get("elapsed_ms").getAsDouble(), parts, 0.01, "running time and states beside the elapsed time");
        Check.atMost(0.02, report.getAsJsonObject("state_ms").get("unseen").getAsDouble() / parts, "share of unknown waits");
    }

    private static double sum(List<String> stacks, String wanted) {
        double sum = 0;
        for (String line : stacks) {
            int weight = line.lastIndexOf(' ');
            if (line.substring(0, weight).matches(wanted)) {
                sum += Double.parseDouble(line.substring(weight + 1));
            }
        }
        return sum;
    }

    static class Program {
        private static final long NANOS = 1_500_000_000;
        private static final Object HELD = new Object();

        interface Body {
            void run() throws Exception;
        }

        public static void main(String[] args) throws Exception {
            List<Thread> threads = new ArrayList<>();
            synchronized (HELD) {
                begin(threads, "sleeps", Program::sleeps);
                begin(threads, "parks", Program::parks);
                begin(threads, "waits", Program::waits);
                begin(threads, "blocks", Program::blocks);
                begin(threads, "accepts", Program::accepts);
                begin(threads, "burns", Program::burns);
                long until = System.nanoTime() + NANOS;
                while (System.nanoTime() < until) {
                    LockSupport.parkNanos(NANOS / 10);
                }
            }
            for (Thread thread : threads) {
                thread.join();
            }
        }

        private static void begin(List<Thread> threads, String name, Body body) {
            Thread thread = new Thread(() -> {
                long began = System.nanoTime();
                try {
                    body.run();
                } catch (Exception wrong) {
                    throw new IllegalStateException(wrong);
                }
                System.out.println(name + "=" + (System.nanoTime() - began));
            }, name);
            threads.add(thread);
            thread.start();
        }

        private static void sleeps() throws InterruptedException {
            Thread.sleep(NANOS / 1_000_000);
        }

        private static void parks() {
            long until = System.nanoTime() + NANOS;
            for (long left = NANOS; left > 0; left = until - System.nanoTime()) {
                LockSupport.parkNanos(left);
            }
        }

        private static void waits() throws InterruptedException {
            Object own = new Object();
            synchronized (own) {
                // Many short waits: the thread runs between them.
                for (int at = 0; at < 30; at++) {
                    own.wait(NANOS / 1_000_000 / 30);
                }
            }
        }

        private static void blocks() {
            synchronized (HELD) {
                Burn.sink++;
            }
        }

        private static void accepts() throws IOException {
            try (ServerSocket server = new ServerSocket(0)) {
                server.setSoTimeout((int) (NANOS / 1_000_000));
                server.accept();
            } catch (SocketTimeoutException expected) {
                Burn.sink++;
            }
        }

        private static void burns() {
            FixedWork work = new FixedWork(500);
            while (work.isOn()) {
                Burn.sink += Burn.work(10_000);
            }
            System.out.println("burns_cpu=" + work.charged());
        }
    }
}
