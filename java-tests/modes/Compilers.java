/*
 * Runs with the interpreter alone, with C1 alone, with everything compiled at once, and as usual.
 * Frames differ in each of these modes. Sampling must not change the program, and its methods must
 * be in the profile.
 *
 * @test
 * @summary -Xint, -Xcomp, C1 alone: the program is unchanged, and its threads are sampled
 * @library /lib
 * @build dev.vouch.test.*
 * @run main Compilers
 */

import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Track;
import dev.vouch.test.Vm;

public class Compilers {
    public static void main(String[] args) {
        Run interpreted = run("interpreted mode", "-Xint");
        Check.equal(0, weightOf(interpreted, "C2 "), "weight of C2 under -Xint");
        // With C2, compiling everything at a JVM's start takes seconds.
        run("compiled mode", "-Xcomp", "-XX:TieredStopAtLevel=1");
        // JDK 8 starts C2's thread even so, which takes some milliseconds on a busy machine.
        Run firstAlone = run("mode", "-XX:TieredStopAtLevel=1");
        Check.atMost(0.2 * weightOf(firstAlone, "C1 "), weightOf(firstAlone, "C2 "), "weight of C2 where C1 alone compiles, beside C1's");
        run("mode", "-XX:-TieredCompilation");
    }

    private static Run run(String mode, String... flags) {
        Run run = Mix.profiled(Vm.with("interval=1ms").flags(flags), Program.class);
        Check.contains(run.value("mode"), mode, "what the JVM calls its mode under " + String.join(" ", flags));
        return run;
    }

    private static long weightOf(Run run, String threads) {
        return run.profile().tracks.stream().filter(track -> track.name.startsWith(threads)).mapToLong(Track::weight).sum();
    }

    static class Program {
        public static void main(String[] args) throws Exception {
            System.out.println("mode=" + System.getProperty("java.vm.info"));
            Mix.main(args);
        }
    }
}
