/*
 * The shortest programs that show how AsyncGetCallTrace is wrong, under Vouch: callers whose code was given up, an initialiser that compiled
 * code has run into, a method handle in the interpreter. Where AsyncGetCallTrace alone has a stack, which is refuted, a profile must have the
 * one that was recovered.
 *
 * @test
 * @summary stacks that AsyncGetCallTrace has cut short are shown whole
 * @library /lib
 * @build dev.vouch.test.* DeoptimisedCaller Initialiser InterpretedHandle
 * @run main Shortest
 */

import java.util.List;

import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.Skip;
import dev.vouch.test.Vm;

public class Shortest {
    public static void main(String[] args) {
        whole(run(DeoptimisedCaller.class, "-XX:-BackgroundCompilation"), "main", "DeoptimisedCaller$Work.run", "DeoptimisedCaller.main");
        whole(run(Initialiser.class, "-XX:TieredStopAtLevel=1", "-XX:-BackgroundCompilation"), "Thread-0", "Initialiser$Fresh.<clinit>",
            "Initialiser.touch");
        if (Vm.major() <= 11) {
            whole(run(InterpretedHandle.class, "-Xint"), "main", "InterpretedHandle.first", "InterpretedHandle.main");
        }
    }

    private static Run run(Class<?> program, String... flags) {
        Run run = Vm.with("interval=1ms").flags(flags).run(program).ok();
        long refuted = run.report().agreement("asgct_refuted");
        // One of sixteen is asked by both walkers. Interpreted alone, or where the machine has hardly let it run, it does not show it.
        Skip.unless(refuted >= 5, refuted + " stacks of AsyncGetCallTrace's in " + program.getName() + " are refuted");
        return run;
    }

    /** Of nearly all samples in a method the stack has its caller. */
    private static void whole(Run run, String thread, String method, String caller) {
        List<Sample> samples = run.profile().track(thread).samples;
        long within = samples.stream().filter(sample -> sample.has(method)).count();
        long whole = samples.stream().filter(sample -> sample.has(method) && sample.has(caller)).count();
        Check.atLeast(50, within, "samples in " + method);
        Check.atLeast(0.8 * within, whole, "samples in " + method + " with " + caller);
    }
}
