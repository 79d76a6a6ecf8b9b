/*
 * Four users work in the ratio 1:2:3:4, on separate threads, in a pool, and in stages of futures.
 * Each user has their own method, so the stack shows the true user. The report must assign each
 * user their CPU time, and no sample may be under another user's name. A wrong answer is worse than
 * none, since contexts exist to show who burnt the CPU.
 *
 * @test
 * @summary each sample is under the context that its work was done in
 * @key newest
 * @library /lib /api/src
 * @build dev.vouch.test.* dev.vouch.Vouch
 * @run main/timeout=200 KnownWork
 */

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

import dev.vouch.Label;
import dev.vouch.Scope;
import dev.vouch.Vouch;
import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.Vm;

public class KnownWork {
    private static final String[] USERS = {"moe", "larry", "curly", "shemp"};
    /**
     * One slice of a user's work in milliseconds; the last user gets four times as many as the
     * first.
     */
    private static final int SLICE_MS = 5;
    private static final int ROUNDS = 20;

    public static void main(String[] args) {
        for (String how : new String[] {"threads", "pool", "futures"}) {
            check(Vm.with("interval=1ms").run(Program.class, how).ok(), how);
        }
    }

    private static void check(Run run, String how) {
        Report report = run.report();
        JsonObject contexts = report.json.getAsJsonObject("contexts");
        Check.equal(0L, contexts.get("left_out").getAsLong(), "contexts without room");
        JsonObject request = null;
        for (JsonElement kind : contexts.getAsJsonArray("kinds")) {
            if (kind.getAsJsonObject().get("label").getAsString().equals("A request")) {
                request = kind.getAsJsonObject();
            }
        }
        Check.that(request != null, "no requests in the report: " + contexts);
        Map<String, JsonObject> users = values(request, 0, "user");
        double all = 0;
        for (String user : USERS) {
            double burnt = run.number(user) / 1e6;
            JsonObject told = users.get(user);
            long samples = told.get("samples").getAsLong();
            // The report's interval is meant for a share of all: it is no narrower than chance in
            // The report's interval must not be narrower than the chance in the samples requires.
            Check.atLeast(2 * Math.sqrt(samples) * report.sampledIntervalUs() / 1e3 * 0.5, told.get("most_ms").getAsDouble() - told.get("least_ms").getAsDouble(),
                "width of its interval, in ms");
            double cpu = told.get("cpu_ms").getAsDouble();
            // A sample at either end of a slice carries some weight across that end, as often
            // outwards as inwards. Between two slices the thread runs for a few microseconds only.
            double ends = Check.FAR * Math.sqrt(2.0 * ROUNDS) * report.sampledIntervalUs() / 1e3 * heaviest(run);
            Check.near(burnt, cpu, ends + 0.02 * burnt, how + ": CPU time of " + user + " by " + samples + " samples, in ms");
            all += cpu;
        }
        Check.equal(USERS.length, users.size(), "users");
        Check.near(all, request.get("cpu_ms").getAsDouble(), 0.01, "sum of the users' CPU time");
        Check.equal(2, values(request, 1, "what it does").size(), "actions");

        long own = 0;
        for (Sample sample : run.profile().samples()) {
            for (String user : USERS) {
                // A refuted stack is wrong, and a plausible one may be.
                if (sample.leaf().holds() && sample.has("KnownWork$Program." + user)) {
                    Check.equal(user, sample.says("user"), how + ": user of " + sample);
                    own++;
                }
            }
            String step = sample.says("value");
            Check.that(step == null || sample.says("user") != null, "a step that is in no request: " + sample);
        }
        Check.atLeast(0.3 * all / (report.sampledIntervalUs() / 1e3) / heaviest(run), own, how + ": samples of users' own methods");
        long requests = 0;
        for (String kind : new String[] {"context-1", "context-2"}) {
            for (JsonObject marker : run.profile().markers(kind)) {
                requests += marker.has("field2") ? 1 : 0;
            }
        }
        Check.that(requests > USERS.length, "markers of requests, which have two fields: " + requests);
    }

    private static double heaviest(Run run) {
        // A timer that the kernel checks only at its ticks gives samples a weight of several
        // intervals.
        double weight = 0;
        long samples = 0;
        for (Sample sample : run.profile().samples()) {
            weight += sample.weight;
            samples++;
        }
        return Math.max(1, weight / samples);
    }

    private static Map<String, JsonObject> values(JsonObject kind, int place, String label) {
        JsonObject field = kind.getAsJsonArray("fields").get(place).getAsJsonObject();
        Check.equal(label, field.get("label").getAsString(), "label of the field");
        Map<String, JsonObject> values = new TreeMap<>();
        for (JsonElement value : field.getAsJsonArray("values")) {
            values.put(value.getAsJsonObject().get("value").getAsString(), value.getAsJsonObject());
        }
        return values;
    }

    @Label("A request")
    static final class Request {
        @Label("user")
        private final String user;
        @Label("what it does")
        private final String action;
        /** A field without a @Label must not be in the profile. */
        @SuppressWarnings("unused")
        private final String password = "geheim";

        Request(String user, String action) {
            this.user = user;
            this.action = action;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Request && ((Request) other).user.equals(user) && ((Request) other).action.equals(action);
        }

        @Override
        public int hashCode() {
            return 31 * user.hashCode() + action.hashCode();
        }
    }

    static class Program {
        private static final long[] BURNT = new long[USERS.length];

        public static void main(String[] args) throws Exception {
            Burn.millis(1);
            ExecutorService pool = Executors.newFixedThreadPool(2);
            List<Thread> threads = new ArrayList<>();
            List<CompletableFuture<?>> futures = new ArrayList<>();
            for (int i = 0; i < USERS.length; i++) {
                int place = i;
                if (args[0].equals("threads")) {
                    threads.add(new User(place));
                } else if (args[0].equals("pool")) {
                    rounds(place, work -> pool.execute(Vouch.wrap(work)));
                } else {
                    Executor carrying = Vouch.wrap(pool);
                    rounds(place, work -> futures.add(CompletableFuture.runAsync(() -> { }, carrying).thenRunAsync(work, carrying)));
                }
            }
            for (Thread thread : threads) {
                thread.start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
            CompletableFuture.allOf(futures.toArray(new CompletableFuture<?>[0])).join();
            pool.shutdown();
            pool.awaitTermination(1, java.util.concurrent.TimeUnit.MINUTES);
            for (int i = 0; i < USERS.length; i++) {
                System.out.println(USERS[i] + "=" + BURNT[i]);
            }
        }

        /** These are named classes, since on JDK 8 a lambda's generated class cannot be proven. */
        static final class User extends Thread {
            private final int place;

            User(int place) {
                super("user-" + place);
                this.place = place;
            }

            @Override
            public void run() {
                rounds(place, new Self());
            }
        }

        static final class Self implements Executor {
            @Override
            public void execute(Runnable work) {
                work.run();
            }
        }

        static final class Serving implements Runnable {
            private final int place;

            Serving(int place) {
                this.place = place;
            }

            @Override
            public void run() {
                serve(place);
            }
        }

        private static void rounds(int place, Executor executor) {
            for (int round = 0; round < ROUNDS; round++) {
                try (Scope request = Vouch.with(new Request(USERS[place], round % 2 == 0 ? "store" : "fetch"))) {
                    executor.execute(new Serving(place));
                }
            }
        }

        private static void serve(int place) {
            long burnt;
            try (Scope step = Vouch.with("burning")) {
                long millis = SLICE_MS * (place + 1L);
                burnt = place == 0 ? moe(millis) : place == 1 ? larry(millis) : place == 2 ? curly(millis) : shemp(millis);
            }
            synchronized (BURNT) {
                BURNT[place] += burnt;
            }
        }

        private static long moe(long millis) {
            return Burn.millis(millis);
        }

        private static long larry(long millis) {
            return Burn.millis(millis);
        }

        private static long curly(long millis) {
            return Burn.millis(millis);
        }

        private static long shemp(long millis) {
            return Burn.millis(millis);
        }
    }
}
