/*
 * Code was compiled before the attach. The JVM's flags at its start decide how certain the method
 * on top is, and the report must say so.
 *
 * @test
 * @key attach newest lts
 * @summary after an attach DebugNonSafepoints decides whether old code is proven or has its reason
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=300 OldCodeProven
 */

import java.util.Scanner;

import com.google.gson.JsonObject;

import dev.vouch.test.Attach;
import dev.vouch.test.Check;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Skip;
import dev.vouch.test.Vm;

public class OldCodeProven {
    private static final String REASON = "compiled_before_attach";
    private static final String UNLOCK = "-XX:+UnlockDiagnosticVMOptions";
    private static final String REFUSED = "-XX:-DebugNonSafepoints";
    private static final String SHORT = "plausible (mostly code compiled before the attach)";

    public static void main(String[] args) {
        Run with = attached(UNLOCK, "-XX:+DebugNonSafepoints");
        Report report = with.report();
        Skip.unless(!report.vmFlags().contains("-Xint"), "an interpreter compiles nothing");
        Check.that(!report.json.getAsJsonObject("plausible_because").has(REASON), "old code has debug information, and the report denies it");
        Check.that(!with.vouchLines().toString().contains(SHORT), "summary: " + with.vouchLines());
        double described = report.certainShare();
        if (Vm.major() == 8) {
            // Its counted loops have no poll, so debug information names no method for certain.
            Check.atMost(0.05, described, "certain in JDK 8's counted loop");
            Check.that(report.json.getAsJsonObject("plausible_because").has("approximate_top_frame"), "the reason of JDK 8 is missing: "
                + report.json.get("plausible_because"));
        }

        Run without = attached();
        report = without.report();
        JsonObject because = report.json.getAsJsonObject("plausible_because").getAsJsonObject(REASON);
        Check.that(because != null, "the reason is missing: " + report.json.get("plausible_because"));
        Check.contains(without.vouchLines().toString(), SHORT, "summary");
        more(described, report, "without");

        refused(attached(UNLOCK, REFUSED), described);
        try (Running child = Vm.with("interval=1ms").flags("-Xmx256m", "-Xbatch", UNLOCK, REFUSED).start(Program.class)) {
            child.awaitOut("ready");
            child.stdin().println("go on");
            refused(child.waitFor().ok(), described);
        }
    }

    /**
     * The flag counts also for code that the JVM compiles with an agent loaded, so the agent
     * must not trust debug information between safepoints.
     */
    private static void refused(Run run, double described) {
        Report report = run.report();
        JsonObject because = report.json.getAsJsonObject("plausible_because");
        Check.that(because.has("without_debug_info"), "the reason is missing: " + because);
        Check.that(!because.has(REASON), "the attach is not the reason: " + because);
        Check.contains(run.vouchLines().toString(), "plausible (mostly for want of debug information)", "summary");
        more(described, report, "refused");
    }

    /** Asserts that debug information makes more samples certain. On JDK 8 it cannot: see above. */
    private static void more(double described, Report report, String other) {
        if (Vm.major() > 8) {
            Check.that(described >= report.certainShare() + 0.2, "certain with debug information: " + described + ", " + other + ": " + report.certainShare());
        }
    }

    private static Run attached(String... flags) {
        try (Running child = Vm.without().flags("-Xmx256m", "-Xbatch").flags(flags).start(Program.class)) {
            child.awaitOut("ready");
            try (Attach attach = Attach.to(child)) {
                attach.must("out=profile.json,report=report.json");
            }
            child.stdin().println("go on");
            return child.waitFor().ok();
        }
    }

    static class Program {
        public static void main(String[] args) {
            long sum = 0;
            for (int i = 0; i < 200; i++) {
                sum += hot(i);
            }
            System.out.println("ready");
            new Scanner(System.in).nextLine();
            // Burns for about a second.
            for (int i = 0; i < 3_000; i++) {
                sum += hot(i);
            }
            System.out.println(sum);
        }

        /** A loop of inlined methods without a safepoint. */
        static long hot(int seed) {
            long x = seed;
            for (int i = 0; i < 100_000; i++) {
                x = stir(x) + spread(x, i);
            }
            return x;
        }

        static long stir(long x) {
            return (x ^ x >>> 7) * 0x9E3779B97F4A7C15L;
        }

        static long spread(long x, int i) {
            return Long.rotateLeft(x, 13) / (i + 1);
        }
    }
}
