/*
 * A flame graph's box can show `Burn.work` but not its package. With names=short the name omits the
 * package, and the file field, which a search covers, has it.
 *
 * @test
 * @summary names=short leaves out the packages, names=full does not
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main ShortNames
 */

import java.util.Set;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Frame;
import dev.vouch.test.Profile;
import dev.vouch.test.Vm;

public class ShortNames {
    private static final String FULL = "dev.vouch.test.Burn.millis";
    private static final String SHORT = "Burn.millis";

    public static void main(String[] args) {
        check(Vm.with("names=short").run(Program.class).ok().profile(), SHORT, FULL);
        check(Vm.with("names=full").run(Program.class).ok().profile(), FULL, SHORT);
        check(Vm.with("").run(Program.class).ok().profile(), FULL, SHORT);
    }

    private static void check(Profile profile, String name, String other) {
        Set<String> functions = profile.functions();
        Check.that(functions.contains(name), name + " is called so in " + functions);
        Check.that(!functions.contains(other), other + " is not called so in " + functions);
        for (Frame frame : profile.frames()) {
            if (frame.function.equals(name)) {
                Check.equal("dev/vouch/test/Burn.java", frame.file, "file of " + frame);
            }
        }
    }

    static class Program {
        public static void main(String[] args) {
            Burn.millis(500);
        }
    }
}
