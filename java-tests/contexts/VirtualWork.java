/*
 * Four users work on ten thousand virtual threads, and others in between work without a context.
 * Each thread parks again and again in the midst of its work and continues on any free carrier. A
 * context belongs to the virtual thread: it must move with it, and never remain on the carrier for
 * the next one. Each user has their own method, so the stack shows the true user.
 *
 * @test
 * @summary a virtual thread's context follows it to other carriers and never leaks to another
 * thread
 * @requires jdk.version.major >= 21
 * @library /lib /api/src
 * @build dev.vouch.test.* dev.vouch.Vouch
 * @run main/timeout=200 VirtualWork
 */

import java.lang.reflect.Method;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

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

public class VirtualWork {
    private static final String[] USERS = {"moe", "larry", "curly", "shemp"};
    private static final int THREADS = 10_000;
    private static final int PARKS = 3;
    /** How many arithmetic steps there are between two parks. */
    private static final int STEPS = 15_000;

    public static void main(String[] args) {
        Run run = Vm.with("interval=1ms").run(Program.class).ok();
        Check.atLeast(THREADS / 10, run.number("moved"), "times that a virtual thread went on on another carrier");
        Report report = run.report();
        JsonObject contexts = report.json.getAsJsonObject("contexts");
        Check.equal(0L, contexts.get("left_out").getAsLong(), "virtual threads whose contexts are not seen");

        long wrong = 0;
        long[] own = new long[USERS.length];
        long without = 0;
        long nobody = 0;
        for (Sample sample : run.profile().samples()) {
            String said = sample.says("user");
            long wrongBefore = wrong;
            for (int user = 0; user < USERS.length; user++) {
                if (sample.has("VirtualWork$Program." + USERS[user])) {
                    own[user] += sample.weight;
                    without += said == null ? sample.weight : 0;
                    wrong += said == null || said.equals(USERS[user]) ? 0 : 1;
                }
            }
            if (sample.has("VirtualWork$Program.nobody")) {
                nobody += sample.weight;
                wrong += said == null ? 0 : 1;
            }
            if (wrong > wrongBefore) {
                System.out.println("under " + said + ": " + sample.frames());
            }
        }
        Check.equal(0L, wrong, "samples under a context that is not theirs");
        Check.that(nobody > 0, "no sample of those who work for nobody");
        long all = 0;
        for (long weight : own) {
            all += weight;
        }
        Check.that(all > 500, "weight of the users' own methods: " + all);
        Check.atMost(0.01 * all, without, "weight of the users' own methods without a context");
        JsonObject request = kind(contexts, "VirtualWork$Request");
        Check.equal((long) USERS.length, distinct(request, 0), "users in the report");
        // A virtual thread is a context too, without a name, and all work ran on virtual threads.
        JsonObject virtual = kind(contexts, "java.lang.VirtualThread");
        Check.atLeast(0.99 * (all + nobody), virtual.get("cpu_ms").getAsDouble(), "time on virtual threads, in ms");
        Check.between(100L, distinct(virtual, 1), THREADS, "virtual threads in the report");
        Check.atMost(all + nobody, contexts.get("with_ms").getAsDouble(), "time in the program's own contexts, in ms");
    }

    private static JsonObject kind(JsonObject contexts, String name) {
        for (JsonElement kind : contexts.getAsJsonArray("kinds")) {
            if (kind.getAsJsonObject().get("class").getAsString().equals(name)) {
                return kind.getAsJsonObject();
            }
        }
        throw new AssertionError("no contexts of " + name + ": " + contexts);
    }

    private static long distinct(JsonObject kind, int field) {
        return kind.getAsJsonArray("fields").get(field).getAsJsonObject().get("distinct").getAsLong();
    }

    static final class Request {
        @Label("user")
        private final String user;

        Request(String user) {
            this.user = user;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Request && ((Request) other).user.equals(user);
        }

        @Override
        public int hashCode() {
            return user.hashCode();
        }
    }

    static class Program {
        private static final AtomicLong MOVED = new AtomicLong();
        /** Sums by user, so that no compiler merges the users' methods. */
        private static final AtomicLongArray SUMS = new AtomicLongArray(USERS.length + 1);

        public static void main(String[] args) throws Exception {
            Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
            CountDownLatch done = new CountDownLatch(THREADS);
            for (int n = 0; n < THREADS; n++) {
                int user = n % 5;
                start.invoke(null, (Runnable) () -> {
                    if (user == USERS.length) {
                        rounds(user);
                    } else {
                        try (Scope scope = Vouch.with(new Request(USERS[user]))) {
                            rounds(user);
                        }
                        // Burns as long as the next thread's first slice, which must not appear
                        // under the closed context.
                        nobody();
                    }
                    done.countDown();
                });
                if (n % 200 == 0) {
                    Thread.sleep(1);
                }
            }
            done.await();
            System.out.println("moved=" + MOVED.get());
        }

        private static void rounds(int user) {
            String carrier = carrier();
            for (int round = 0; round < PARKS; round++) {
                switch (user) {
                    case 0: moe(); break;
                    case 1: larry(); break;
                    case 2: curly(); break;
                    case 3: shemp(); break;
                    default: nobody(); break;
                }
                Thread.yield();
                java.util.concurrent.locks.LockSupport.parkNanos(1_000);
                String now = carrier();
                MOVED.addAndGet(now.equals(carrier) ? 0 : 1);
                carrier = now;
            }
        }

        /** A virtual thread's toString() ends with its carrier's name. */
        private static String carrier() {
            String text = Thread.currentThread().toString();
            return text.substring(text.lastIndexOf('@') + 1);
        }

        private static void moe() {
            SUMS.addAndGet(0, Burn.work(STEPS));
        }

        private static void larry() {
            SUMS.addAndGet(1, Burn.work(2 * STEPS));
        }

        private static void curly() {
            SUMS.addAndGet(2, Burn.work(3 * STEPS));
        }

        private static void shemp() {
            SUMS.addAndGet(3, Burn.work(4 * STEPS));
        }

        private static void nobody() {
            SUMS.addAndGet(4, Burn.work(STEPS));
        }
    }
}
