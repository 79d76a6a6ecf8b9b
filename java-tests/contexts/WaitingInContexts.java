/*
 * A program's waits belong to the contexts in which it waits. Each thread of the program waits in
 * contexts and in a trace for times that it prints. `vouch top --measure wall` must have these
 * times by context, also for a profile that was made from the recording.
 *
 * @test
 * @summary wall=on: waits have the context and the trace of their thread
 * @key newest
 * @library /lib /api/src
 * @build dev.vouch.test.* dev.vouch.Vouch
 * @run main/timeout=120 WaitingInContexts
 */

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.locks.LockSupport;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import dev.vouch.Scope;
import dev.vouch.Trace;
import dev.vouch.Vouch;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Skip;
import dev.vouch.test.Tool;
import dev.vouch.test.Vm;

public class WaitingInContexts {
    private static final String TRACE_ID = "00000000000000070000000000000008";
    /** The methods take some milliseconds outside of their waits. */
    private static final double NEAR = 0.05;

    public static void main(String[] args) throws Exception {
        Run run = Vm.with("wall=2ms,interval=1ms,recording=keep").flags("-Xmx64m").run(Program.class);
        Skip.ifEngineRefused(run);
        run.ok();
        check(run, "profile.json");
        Tool.vouch(run.dir, "convert", "profile.vouch", "--out", "converted.json").ok();
        check(run, "converted.json");
    }

    private static void check(Run run, String file) throws Exception {
        // The kernel does not say where a thread was ready to run, so this time has no context.
        double ready = run.report().json.getAsJsonObject("wall_clock").getAsJsonObject("state_ms").get("runnable").getAsDouble();
        Map<String, Double> users = times(run, file, "--by", "value");
        Check.equal("[larry, moe]", users.keySet().toString(), "contexts in " + file);
        for (Map.Entry<String, Double> user : users.entrySet()) {
            double expected = run.number(user.getKey()) / 1e6;
            Check.near(expected, user.getValue(), NEAR * expected + ready, "wall-clock time of " + user.getKey() + " in " + file);
        }
        Map<String, Double> waits = times(run, file, "--where", "value=moe", "--state", "parked");
        double parked = run.number("moe_parked") / 1e6;
        Check.near(parked, waits.get("[parked]"), NEAR * parked + ready, "parked time of moe in " + file);
        Map<String, Double> traces = times(run, file, "--by", "trace_id");
        double traced = run.number("traced") / 1e6;
        Check.near(traced, traces.get(TRACE_ID), NEAR * traced + ready, "wall-clock time of the trace in " + file);
    }

    /** Returns the rows of `vouch top --measure wall`: by name, the time in milliseconds. */
    private static Map<String, Double> times(Run run, String file, String... options) throws Exception {
        String[] all = new String[options.length + 5];
        System.arraycopy(new String[] {"top", file, "--measure", "wall", "--json"}, 0, all, 0, 5);
        System.arraycopy(options, 0, all, 5, options.length);
        Map<String, Double> times = new TreeMap<>();
        String top = Tool.vouch(run.dir, all).ok();
        for (JsonElement each : JsonParser.parseString(top).getAsJsonObject().getAsJsonArray("rows")) {
            JsonObject row = each.getAsJsonObject();
            JsonElement time = row.has("ms") ? row.get("ms") : row.get("self_ms");
            times.put(row.get("name").getAsString(), time.getAsDouble());
        }
        return times;
    }

    static class Program {
        private static final long NANOS = 600_000_000;

        public static void main(String[] args) throws Exception {
            Thread moe = new Thread(Program::moe, "moe");
            Thread larry = new Thread(Program::larry, "larry");
            moe.start();
            larry.start();
            moe.join();
            larry.join();
        }

        private static void moe() {
            long began = System.nanoTime();
            try (Scope scope = Vouch.with("moe")) {
                long parked = System.nanoTime();
                park(NANOS);
                System.out.println("moe_parked=" + (System.nanoTime() - parked));
                sleep(NANOS);
            }
            System.out.println("moe=" + (System.nanoTime() - began));
            sleep(NANOS);
        }

        private static void larry() {
            sleep(NANOS);
            long began = System.nanoTime();
            try (Scope scope = Vouch.with("larry")) {
                long traced = System.nanoTime();
                try (Trace trace = Vouch.trace(7, 8, 9)) {
                    park(NANOS);
                }
                System.out.println("traced=" + (System.nanoTime() - traced));
                sleep(NANOS / 2);
            }
            System.out.println("larry=" + (System.nanoTime() - began));
        }

        private static void park(long nanos) {
            long until = System.nanoTime() + nanos;
            for (long left = nanos; left > 0; left = until - System.nanoTime()) {
                LockSupport.parkNanos(left);
            }
        }

        private static void sleep(long nanos) {
            try {
                Thread.sleep(nanos / 1_000_000);
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            }
        }
    }
}
