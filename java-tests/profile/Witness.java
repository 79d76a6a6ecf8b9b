/*
 * The agent compares some samples with GetStackTrace, and the report says how far they agreed. A
 * thread stays in its handler until the JVM is asked to stop it, so nearly every frame can be
 * compared. A sound walker must agree. A walker that drops a frame in a recursion, or each stack's
 * root, must be detected. Otherwise the witness would prove nothing. By default all this may cost
 * at most a thousandth of the run.
 *
 * @test id=walks
 * @summary the report's witness: sound walks agree, and broken ones do not
 * @library /lib
 * @build dev.vouch.test.*
 * @run main Witness walks
 */

/*
 * @test id=numbers
 * @summary the report's witness finds as many broken walks as there are, and is cheap
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main Witness numbers
 */

import java.time.Duration;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;

import dev.vouch.test.Burn;
import dev.vouch.test.BusyHostGaps;
import dev.vouch.test.Check;
import dev.vouch.test.FixedWork;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Scale;
import dev.vouch.test.Vm;

public class Witness {
    /**
     * Before JDK 17 the JVM stops all threads for GetStackTrace, at a time that cannot be foreseen.
     */
    private static final boolean STAYS = Vm.major() >= 17 && Runtime.getRuntime().availableProcessors() > 1;

    private static final BusyHostGaps HOST_GAPS = new BusyHostGaps();

    public static void main(String[] args) {
        if (args[0].equals("walks")) {
            walks();
        } else {
            if (STAYS) {
                nowAndThen();
            }
            cheap();
        }
        HOST_GAPS.tell();
    }

    private static void walks() {
        Run run = Vm.with("witness=500/s,threads=^" + THREAD + "$").run(Program.class, Long.toString(WALKS_MS)).ok();
        JsonObject sound = witness(run);
        Report report = run.report();
        int asked = number(sound, "asked");
        if (HOST_GAPS.enough(50, asked, report, WALKS_MS, "samples that were witnessed")) {
            // AsyncGetCallTrace is sometimes wrong, and more often where only the root can be
            // compared, so all samples are counted.
            int rootsThatDiffer = count(sound, "root_only", "asked") - count(sound, "root_only", "agreed");
            Check.atMost(0.02 * (asked - number(sound, "gone")), rootsThatDiffer, "roots that differ");
            Check.atMost(0.02 * of(sound, "confirmed", "proven"), of(sound, "contradicted", "proven"), "proven stacks that the JVM itself contradicts");
        }
        if (STAYS) {
            // A thread that waits for other work is too late to see that it will stop.
            Check.atLeast(0.5 * (asked - report.lateWitnesses()), whole(sound), "witnesses of more than the root");
            if (HOST_GAPS.enough(20, whole(sound), report, WALKS_MS, "witnesses of more than the root")) {
                Check.atLeast(0.98 * whole(sound), count(sound, "exact", "agreed") + count(sound, "all_but_top", "agreed"), "of them, that agreed");
            }
            Check.atLeast(DEPTH / 2 * whole(sound), count(sound, "exact", "frames") + count(sound, "all_but_top", "frames"), "frames that were compared");
        }

        Run gaps = Vm.lab("witness=500/s,break=gap,threads=^" + THREAD + "$").run(Program.class, Long.toString(WALKS_MS)).ok();
        JsonObject gap = witness(gaps);
        if (STAYS) {
            if (HOST_GAPS.enough(50, whole(gap), gaps.report(), WALKS_MS, "walks with a gap that were witnessed")) {
                Check.atMost(0.05 * whole(gap), count(gap, "exact", "agreed") + count(gap, "all_but_top", "agreed"), "walks with a gap that were taken for sound");
            }
            JsonArray told = gap.getAsJsonArray("contradictions");
            Check.atLeast(1, told.size(), "contradictions that are told");
            JsonObject first = told.get(0).getAsJsonObject();
            Check.equal("witness", first.get("kind").getAsString(), "what is against it");
            JsonArray ours = first.getAsJsonArray("stack");
            JsonArray theirs = first.getAsJsonObject("witness").getAsJsonArray("stack");
            Check.atLeast(3, ours.size(), "lines of the walk's account");
            Check.atLeast(3, theirs.size(), "lines of the JVM's own account");
            Check.that(!ours.equals(theirs), "the two accounts are the same: " + ours);
        }

        Run truncated = Vm.lab("witness=200/s,break=truncated").run(Straight.class).ok();
        JsonObject broken = witness(truncated);
        int compared = number(broken, "asked") - number(broken, "gone");
        int agreed = count(broken, "exact", "agreed") + count(broken, "all_but_top", "agreed") + count(broken, "root_only", "agreed");
        if (HOST_GAPS.enough(50, compared, truncated.report(), MS, "samples of the broken walker that were witnessed")) {
            Check.atMost(0.02 * compared, agreed, "broken walks that were taken for sound");
            Check.atLeast(0.9 * compared, of(broken, "differences", "root_truncated") + of(broken, "differences", "truncated"), "broken walks that were recognised");
        }
    }

    private static void cheap() {
        Run cheap = Vm.with("").run(Program.class).ok();
        JsonObject byDefault = witness(cheap);
        // On a busy machine one witness may take so long that the next one is not due within the
        // run.
        Check.atLeast(1, number(byDefault, "asked"), "samples that are witnessed by default");
        double wall = cheap.report().wallMs();
        // Each witness is paid by the time until the next. The last one, which may be the longest,
        // is not paid yet.
        double paid = byDefault.get("took_ms").getAsDouble() - byDefault.get("longest_ms").getAsDouble();
        Check.atMost(0.001 * wall, paid, "time that the witnesses took, in ms");

        JsonObject off = witness(Vm.with("witness=off").run(Program.class, "500").ok());
        Check.equal(0, number(off, "asked"), "samples that are witnessed when it is off");
        Check.equal(0.0, off.get("stayed_ms").getAsDouble(), "time that threads stayed for it");
    }

    /** If few walks are broken, the witness finds that many, and calls no other wrong. */
    private static void nowAndThen() {
        Run some = Vm.lab("witness=1000/s,recovery=off,break=gap/" + EVERY + ",threads=^" + THREAD + "$")
            .timeout(Duration.ofSeconds(SECONDS + 60)).run(Program.class, Integer.toString(1_000 * SECONDS)).ok();
        JsonObject witness = witness(some);
        int whole = whole(witness);
        int differ = whole - count(witness, "exact", "agreed") - count(witness, "all_but_top", "agreed");
        double broken = (double) whole / EVERY;
        double chance = Check.FAR * Math.sqrt(broken);
        System.out.printf("%d of %d whole stacks contradicted, %.0f were broken%n", differ, whole, broken);
        if (HOST_GAPS.enough(20 * EVERY, whole, some.report(), 1_000.0 * SECONDS, "whole stacks that were witnessed")) {
            Check.between(0.95 * broken - chance, differ, broken + chance, "contradicted stacks, of the broken ones");
        }
    }

    private static JsonObject witness(Run run) {
        return run.report().json.getAsJsonObject("witness");
    }

    private static int number(JsonObject witness, String key) {
        return witness.get(key).getAsInt();
    }

    private static int count(JsonObject witness, String grade, String key) {
        return number(witness.getAsJsonObject(grade), key);
    }

    /** The number of witnesses of whole stacks. */
    private static int whole(JsonObject witness) {
        return count(witness, "exact", "asked") + count(witness, "all_but_top", "asked");
    }

    private static int of(JsonObject witness, String list, String key) {
        JsonObject counts = witness.getAsJsonObject(list);
        return counts.has(key) ? counts.get(key).getAsInt() : 0;
    }

    private static final int DEPTH = 60;
    private static final long MS = 1_500;
    /** The run time, for some 250 witnesses: 500 a second, minus what each takes. */
    private static final long WALKS_MS = 750;
    /** One walk in this many is broken. */
    private static final int EVERY = Scale.pick(11, 101);
    private static final int SECONDS = Scale.pick(3, 120);

    /**
     * A thread that begins in `run` and stays there. The main thread has several roots, one for
     * each call of the launcher into Java.
     */
    private static final String THREAD = "recursion";

    static class Program {
        public static void main(String[] args) throws InterruptedException {
            long millis = args.length > 0 ? Long.parseLong(args[0]) : MS;
            Thread thread = new Thread(() -> calls(millis), THREAD);
            thread.start();
            thread.join();
        }

        private static void calls(long millis) {
            // By its own clock, so that a busy machine gives as many samples.
            FixedWork fixedWork = new FixedWork(millis);
            while (fixedWork.isOn()) {
                for (int i = 0; i < 50; i++) {
                    odd(DEPTH);
                }
            }
        }

        /** Two methods by turns: a missing frame between them breaks their order. */
        private static long odd(int left) {
            return left == 0 ? Burn.work(5_000) : even(left - 1) + 1;
        }

        private static long even(int left) {
            return left == 0 ? Burn.work(5_000) : odd(left - 1) + 2;
        }
    }

    static class Straight {
        public static void main(String[] args) {
            outer();
        }

        /** Deep enough to recognise a stack that lacks its root. */
        private static void outer() {
            inner();
        }

        private static void inner() {
            Burn.pieces(MS);
        }
    }
}
