/*
 * Compiled code relies on assumptions: here, that no subclass overrides a method. Loading such a
 * subclass invalidates the code, at a time that the program prints. The profile must show exactly
 * these deoptimisations. Code that is merely replaced by better code must not be among them.
 *
 * @test
 * @summary which code was deoptimised, which compiler had made it, and when
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=300 DeoptimisationEvents
 */

import java.util.List;

import dev.vouch.test.Check;
import dev.vouch.test.Mark;
import dev.vouch.test.Profile;
import dev.vouch.test.Run;
import dev.vouch.test.Skip;
import dev.vouch.test.Vm;

public class DeoptimisationEvents {
    private static final int METHODS = 3;

    public static void main(String[] args) {
        Run run = Vm.with("events=jit+deopt").flags("-Xmx256m", "-Xbatch").run(Program.class).ok();
        Skip.unless(!run.report().vmFlags().contains("-Xint"), "an interpreter compiles nothing");
        Profile profile = run.profile();
        for (int i = 0; i < METHODS; i++) {
            String method = "DeoptimisationEvents$Program.hot" + i;
            Mark best = of(profile, "compilation", method, 4);
            Check.that(best != null, method + " was compiled by the second compiler");
            Skip.unless(best.startMs < run.number("came" + i) / 1e6, "it is told too late that " + method + " was compiled");
            Check.that(of(profile, "compilation", method, 3) != null, method + " was compiled by the first before");
            List<Mark> told = profile.marks("code_given_up", "method", method);
            Check.equal(1, told.size(), "times that code of " + method + " was given up: " + told);
            Mark mark = told.get(0);
            Check.equal(4, mark.number("tier"), "whose code it was");
            Check.equal(best.number("size"), mark.number("size"), "its size");
            Check.atLeast(run.number("came" + i) / 1e6 - 0.002, mark.startMs, "when it was seen");
        }
        Check.equal(0, profile.marks("code_given_up", "method", "DeoptimisationEvents$Program.steady").size(), "times that code was given up which was but replaced");
        Check.that(of(profile, "compilation", "DeoptimisationEvents$Program.steady", 4) != null, "steady was compiled by the second compiler");
        Check.that(profile.marks("compilation", "method", "DeoptimisationEvents$Program.loops").stream().anyMatch(mark -> mark.number("in_loop") == 1),
            "what looped was entered there");
        Check.that(profile.marks("compilation", "method", "DeoptimisationEvents$Program.steady").stream().noneMatch(mark -> mark.number("in_loop") == 1),
            "and nothing else");
        Check.equal((long) profile.marks("code_given_up").size(),
            run.report().json.getAsJsonObject("events").getAsJsonObject("deopt").get("count").getAsLong(), "what the report says");
    }

    private static Mark of(Profile profile, String kind, String method, int tier) {
        return profile.marks(kind, "method", method).stream().filter(mark -> mark.number("tier") == tier).findFirst().orElse(null);
    }

    static class Program {
        static class Base0 {
            int value() {
                return 1;
            }
        }

        static class Base1 {
            int value() {
                return 2;
            }
        }

        static class Base2 {
            int value() {
                return 3;
            }
        }

        static class Other0 extends Base0 {
            @Override
            int value() {
                return 4;
            }
        }

        static class Other1 extends Base1 {
            @Override
            int value() {
                return 5;
            }
        }

        static class Other2 extends Base2 {
            @Override
            int value() {
                return 6;
            }
        }

        public static void main(String[] args) throws Exception {
            Base0 base0 = new Base0();
            Base1 base1 = new Base1();
            Base2 base2 = new Base2();
            long sum = loops();
            for (int i = 0; i < 200_000; i++) {
                sum += hot0(base0, i) + hot1(base1, i) + hot2(base2, i) + steady(i);
            }
            for (int i = 0; i < METHODS; i++) {
                // Gives the agent time to see the compiled code first.
                Thread.sleep(700);
                // The last deoptimisation is reported only when the recording ends.
                System.out.println("came" + i + "=" + System.nanoTime());
                Class.forName("DeoptimisationEvents$Program$Other" + i);
            }
            System.out.println(sum);
        }

        static int hot0(Base0 base, int i) {
            return base.value() ^ i;
        }

        static int hot1(Base1 base, int i) {
            return base.value() ^ i;
        }

        static int hot2(Base2 base, int i) {
            return base.value() ^ i;
        }

        static int steady(int i) {
            return Integer.reverse(i) ^ i;
        }

        /** Runs once, so that the JVM replaces it on the stack, in its loop. */
        static long loops() {
            long sum = 0;
            for (int i = 0; i < 2_000_000; i++) {
                sum += i * sum ^ i;
            }
            return sum;
        }
    }
}
