/*
 * Ordinary profiling compares some of its own samples with GetStackTrace and says in the report how far they agreed. A
 * sound walker must agree; one that loses each stack's root must be found out, or the figure is worth nothing. And by
 * default it may not cost more than a thousandth of the run.
 *
 * @test
 * @summary the report's witness: sound walks agree, broken ones do not, and it is cheap
 * @library /lib
 * @build dev.vouch.test.*
 * @run main Witness
 */

import com.google.gson.JsonObject;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Vm;

public class Witness {
    public static void main(String[] args) {
        JsonObject sound = witness(Vm.with("witness=200/s").run(Program.class).ok());
        int asked = number(sound, "asked");
        Check.atLeast(50, asked, "samples that were witnessed");
        Check.equal(asked, number(sound, "exact") + number(sound, "root_only") + number(sound, "gone"), "what became of those that were asked about");
        Check.equal(number(sound, "exact"), number(sound, "agreed"), "exact witnesses that agreed");
        Check.atLeast(0.98 * number(sound, "root_only"), number(sound, "root_agreed"), "roots that agreed");

        JsonObject broken = witness(Vm.with("witness=200/s,break=truncated").run(Program.class).ok());
        int compared = number(broken, "exact") + number(broken, "root_only");
        Check.atLeast(50, compared, "samples of the broken walker that were witnessed");
        Check.atMost(0.02 * compared, number(broken, "agreed") + number(broken, "root_agreed"), "broken walks that were taken for sound");
        Check.atLeast(0.9 * compared, difference(broken, "root_truncated") + difference(broken, "truncated"), "broken walks that were recognised");

        Run cheap = Vm.with("").run(Program.class).ok();
        JsonObject byDefault = witness(cheap);
        // On a busy machine one may take so long that the next one is not due within the run.
        Check.atLeast(1, number(byDefault, "asked"), "samples that are witnessed by default");
        double wall = cheap.report().wallMs();
        // Each pays for itself with the time until the next; the last one's, which may be the longest, is still to come.
        double paid = byDefault.get("took_ms").getAsDouble() - byDefault.get("longest_ms").getAsDouble();
        Check.atMost(0.001 * wall, paid, "time that the witnesses took, in ms");

        Check.equal(0, number(witness(Vm.with("witness=off").run(Program.class).ok()), "asked"), "samples that are witnessed when it is off");
    }

    private static JsonObject witness(Run run) {
        return run.report().json.getAsJsonObject("witness");
    }

    private static int number(JsonObject witness, String key) {
        return witness.get(key).getAsInt();
    }

    private static int difference(JsonObject witness, String kind) {
        JsonObject differences = witness.getAsJsonObject("differences");
        return differences.has(kind) ? differences.get(kind).getAsInt() : 0;
    }

    static class Program {
        public static void main(String[] args) {
            outer();
        }

        /** Deep enough that what is left of a stack without its root can be told by. */
        private static void outer() {
            inner();
        }

        private static void inner() {
            Burn.millis(1500);
        }
    }
}
