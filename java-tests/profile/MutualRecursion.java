/*
 * Two classes call only each other, in the interpreter. While a method is being entered, the
 * registers still describe its caller's frame. In a recursion all frames return to the same
 * address. A walker that uses these registers omits the caller. The bytecode cannot show that,
 * since both methods have the same name. No class may be next to itself in a stack.
 *
 * @test
 * @summary an interpreted method that is being entered has its caller, also in a recursion
 * @library /lib
 * @build dev.vouch.test.*
 * @run main MutualRecursion
 */

import java.util.List;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.Vm;

public class MutualRecursion {
    private static final long BURNT_MS = 1500;

    public static void main(String[] args) {
        Run run = Vm.with("interval=1ms,recovery=off,witness=off,walker=own").flags("-Xint").run(Program.class).ok();
        long seen = 0;
        long onTop = 0;
        for (Sample sample : run.profile().samples()) {
            if (sample.leaf().isRefuted()) {
                continue;
            }
            List<String> functions = sample.functions();
            for (int at = 1; at < functions.size(); at++) {
                if (functions.get(at).endsWith(".go")) {
                    Check.that(!functions.get(at).equals(functions.get(at - 1)), "nobody calls itself in " + sample);
                    seen++;
                }
            }
            onTop += functions.get(0).endsWith(".go") ? sample.weight : 0;
        }
        Check.that(seen > 1_000, "frames of the recursion: " + seen);
        // The trigger: one sample in forty is in a method that is being entered.
        Check.that(onTop > 300, "weight of the samples in which the recursion is on top: " + onTop);
    }

    interface Next {
        int go(int rounds);
    }

    static final class Here implements Next {
        private Next next;

        @Override
        public int go(int rounds) {
            return rounds == 0 ? 0 : next.go(rounds - 1) + 1;
        }
    }

    static final class There implements Next {
        private Next next;

        @Override
        public int go(int rounds) {
            return rounds == 0 ? 0 : next.go(rounds - 1) + 1;
        }
    }

    static class Program {
        public static void main(String[] args) {
            Here here = new Here();
            There there = new There();
            here.next = there;
            there.next = here;
            long until = Burn.cpuNanos() + BURNT_MS * 1_000_000;
            while (Burn.cpuNanos() < until) {
                for (int i = 0; i < 500; i++) {
                    Burn.sink += here.go(20);
                }
            }
        }
    }
}
