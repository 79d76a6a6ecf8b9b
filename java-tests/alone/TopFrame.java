/*
 * The method on top of a stack must be the one that took the time, even if it was inlined. Two
 * things mislead a profiler. The compiler describes many instructions of a loop as another
 * method's, and an interrupt arrives after the slow instruction. The test knows the truth from the
 * program's own clock, or from a run in which the method is not inlined.
 *
 * @test
 * @summary an inlined method has the share of the time that it has when it is not inlined
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=200 TopFrame
 */

import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.Signature;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

import com.google.gson.JsonObject;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.Track;
import dev.vouch.test.Vm;

public class TopFrame {
    private static final String MS = "2000";
    /**
     * Two runs differ by chance, and a call that is not inlined costs the caller some time. Without
     * the correction of top frames the shares are off by 0.3 and more.
     */
    private static final double TOLERANCE = 0.08;

    public static void main(String[] args) {
        tasks();
        barriers();
        compiledByC1();
        signatures();
    }

    /**
     * A loop of volatile writes is inlined into a pool's worker. The compiler describes the loop's
     * instructions as the worker's own.
     */
    private static void tasks() {
        String apart = "-XX:CompileCommand=dontinline,TopFrame$Tasks::work";
        double truth = share(Vm.with("interval=1ms").flags(apart).run(Tasks.class, MS).ok(), "TopFrame$Tasks.work", "pool-1-thread-", "java.lang.Thread.run");
        Run inlined = Vm.with("interval=1ms").run(Tasks.class, MS).ok();
        double shown = share(inlined, "TopFrame$Tasks.work", "pool-1-thread-", "java.lang.Thread.run");
        Check.between(0.6, truth, 1, "share of the work that is not inlined");
        // The C2 of JDK 8 describes some unrolled loops as unrelated methods, and nothing in the
        // code names the loop.
        double below = Vm.major() == 8 ? 0.25 : TOLERANCE;
        Check.between(truth - below, shown, truth + TOLERANCE, "share of the work that is inlined into a pool's worker");
        certainty(inlined);
        // Without the correction each of these two methods has a fifth of the time, wrongly. A
        // stack that still has one of them on top must not be called proven.
        long wrong = weight(inlined, "proven", "pool-1-thread-", "java.util.concurrent.ThreadPoolExecutor$Worker.tryAcquire")
                + weight(inlined, "proven", "pool-1-thread-", "java.util.concurrent.FutureTask.run");
        Check.atMost(0.03 * weight(inlined, "", "pool-1-thread-", "java.lang.Thread.run"), wrong, "ms of proven stacks with a wrong method on top");
    }

    /**
     * Stores into old objects call barriers. Newer JDKs put their code out of line, where the
     * compiler describes nothing.
     */
    private static void barriers() {
        Run run = Vm.with("interval=1ms").run(Stores.class, MS).ok();
        double truth = (double) run.number("store") / (run.number("store") + run.number("cheap"));
        // The clock itself takes the rest of the loop's time.
        double shown = share(run, "TopFrame$Stores.store", "main", "TopFrame$Stores.store", "TopFrame$Stores.cheap");
        Check.between(0.3, truth, 0.95, "share of the stores by the program's own clock");
        Check.near(truth, shown, TOLERANCE, "share of the stores that are inlined beside a cheap loop");
        certainty(run);
        if (Vm.major() > 8) {
            // All the time is in loops, and the safepoint poll of each loop names its method.
            Check.atLeast(0.8, run.report().certainShare(), "share of stacks whose method on top is certain");
        }
    }

    /**
     * C1 calls barriers and 64-bit divisions out of line, in stubs after the code that it
     * describes. That code has no frame pointer, so AsyncGetCallTrace omits the calling method.
     */
    private static void compiledByC1() {
        Run stores = Vm.with("interval=1ms").flags("-XX:TieredStopAtLevel=1").run(Stores.class, MS).ok();
        double truth = (double) stores.number("store") / (stores.number("store") + stores.number("cheap"));
        double shown = share(stores, "TopFrame$Stores.store", "main", "TopFrame$Stores.both");
        Check.near(truth, shown, TOLERANCE, "share of the stores in code of C1's");
        long caller = stores.profile().selfByFunction().getOrDefault("TopFrame$Stores.both", 0L);
        Check.atMost(0.03 * weight(stores, "", "main", "TopFrame$Stores.both"), caller, "ms that the caller of the stores has for itself");
        Run divisions = Vm.with("interval=1ms").flags("-XX:TieredStopAtLevel=1").run(Divisions.class, MS).ok();
        truth = divisions.number("divided") / 1e9;
        shown = weight(divisions, "", "main", "TopFrame$Divisions.divide") / 1e3;
        Check.near(1, shown / truth, TOLERANCE, "time of the divisions in code of C1's, by that of the program's own clock");
    }

    /**
     * Time in a VM routine belongs to the method for which the compiler used an intrinsic.
     */
    private static void signatures() {
        if (Vm.major() < 11) {
            // JDK 8 computes signatures in Java, without intrinsics.
            return;
        }
        Run run = Vm.with("interval=1ms").run(Signatures.class, MS).ok();
        long all = 0;
        long montgomery = 0;
        long equals = 0;
        for (Track track : run.profile().tracks) {
            if (track.name.equals("main")) {
                all += track.weight();
                montgomery += track.weightOf("java.math.BigInteger.montgomerySquare") + track.weightOf("java.math.BigInteger.montgomeryMultiply");
                equals += track.weightOf("java.math.BigInteger.equals");
            }
        }
        System.out.println("of " + all + " ms of signatures " + montgomery + " are in Montgomery's methods and " + equals + " in equals");
        Check.atLeast(0.5 * all, montgomery, "ms in the methods whose intrinsics take the time");
        Check.atMost(0.01 * all, equals, "ms in a method that is hardly called");
    }

    /**
     * The report must classify the top frame of each stack that is not refuted. A stack must not be
     * proven if its top method is a guess.
     */
    private static void certainty(Run run) {
        JsonObject topFrame = run.report().json.getAsJsonObject("top_frame");
        long judged = 0;
        for (String certainty : new String[] {"exact", "method_certain", "approximate"}) {
            judged += topFrame.getAsJsonObject(certainty).get("samples").getAsLong();
        }
        Check.equal(run.report().samples("proven") + run.report().samples("plausible"), judged, "samples whose top frame was judged");
        long approximate = topFrame.getAsJsonObject("approximate").get("samples").getAsLong();
        Check.atLeast(1, approximate, "samples whose method on top is a guess");
        Check.atMost(run.report().samples("plausible"), approximate, "samples whose method on top is a guess, which are plausible");
    }

    /**
     * The weight of the samples of some threads with this fate and this method on top. An empty
     * fate means any fate, and the method at any depth.
     */
    private static long weight(Run run, String fate, String threads, String method) {
        long sum = 0;
        for (Track track : run.profile().tracks) {
            for (Sample sample : track.samples) {
                boolean isIn = fate.isEmpty() ? sample.has(method) : sample.leaf().function.equals(method) && sample.leaf().fate().equals(fate);
                if (isIn && track.name.startsWith(threads)) {
                    sum += sample.weight;
                }
            }
        }
        return sum;
    }

    /**
     * The time of one method as a share of the time of others, in some threads. Each method counts
     * with its callees.
     */
    private static double share(Run run, String method, String threads, String... whole) {
        long all = 0;
        long part = 0;
        for (Track track : run.profile().tracks) {
            if (track.name.startsWith(threads)) {
                for (String one : whole) {
                    all += track.weightOf(one);
                }
                part += track.weightOf(method);
            }
        }
        Check.atLeast(1_000, all, "ms of " + String.join(" and ", whole));
        System.out.println(method + " has " + part + " of " + all + " ms");
        return (double) part / all;
    }

    static class Tasks {
        private static volatile long sum;

        private static void work() {
            Random random = new Random();
            for (int i = 0; i < 3_000; i++) {
                sum += random.nextInt();
            }
        }

        public static void main(String[] args) throws Exception {
            long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000;
            ExecutorService pool = Executors.newFixedThreadPool(2);
            while (System.nanoTime() < end) {
                List<Future<?>> tasks = new ArrayList<>();
                for (int i = 0; i < 200; i++) {
                    tasks.add(pool.submit(() -> {
                        work();
                        return 1;
                    }));
                }
                for (Future<?> task : tasks) {
                    task.get();
                }
            }
            pool.shutdown();
        }
    }

    static class Stores {
        private static final Stores[] OLD = new Stores[4_096];
        private static int sum = 7;
        private static long stored;
        private static long cheaply;
        private Object field;

        private static void store() {
            Object young = new Object();
            Stores[] old = OLD;
            for (int i = 0; i < old.length; i++) {
                old[i].field = young;
            }
        }

        private static void cheap() {
            int here = sum;
            for (int i = 0; i < 4_000; i++) {
                here = here * 31 + i;
            }
            sum = here;
        }

        private static void both() {
            long begin = Burn.cpuNanos();
            for (int i = 0; i < 5; i++) {
                store();
            }
            long between = Burn.cpuNanos();
            for (int i = 0; i < 5; i++) {
                cheap();
            }
            stored += between - begin;
            cheaply += Burn.cpuNanos() - between;
        }

        public static void main(String[] args) {
            for (int i = 0; i < OLD.length; i++) {
                OLD[i] = new Stores();
            }
            System.gc();
            long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000;
            while (System.nanoTime() < end) {
                for (int i = 0; i < 10; i++) {
                    both();
                }
            }
            System.out.println("store=" + stored);
            System.out.println("cheap=" + cheaply);
        }
    }

    static class Divisions {
        private static long sum = 7;

        private static void divide() {
            long here = sum;
            for (int i = 0; i < 4_000; i++) {
                here += (Long.MAX_VALUE - i) / (3 + (here & 7));
            }
            sum = here;
        }

        private static long turn() {
            long begin = Burn.cpuNanos();
            for (int i = 0; i < 10; i++) {
                divide();
            }
            return Burn.cpuNanos() - begin;
        }

        private static long run(long ms) {
            long divided = 0;
            for (long end = System.nanoTime() + ms * 1_000_000; System.nanoTime() < end;) {
                divided += turn();
            }
            return divided;
        }

        /**
         * This method is interpreted: AsyncGetCallTrace mistakes its frame for that of the division
         * routine.
         */
        public static void main(String[] args) {
            System.out.println("divided=" + run(Long.parseLong(args[0])));
        }
    }

    static class Signatures {
        public static void main(String[] args) throws Exception {
            KeyPairGenerator generator = KeyPairGenerator.getInstance("RSA");
            generator.initialize(2_048);
            KeyPair pair = generator.generateKeyPair();
            Signature signature = Signature.getInstance("SHA256withRSA");
            long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000;
            while (System.nanoTime() < end) {
                signature.initSign(pair.getPrivate());
                signature.update(new byte[100]);
                signature.sign();
            }
        }
    }
}
