/*
 * The shortest programs that show AsyncGetCallTrace's errors, under Vouch. They have callers with
 * discarded code, an initialiser that compiled code has entered, and a method handle in the
 * interpreter. AsyncGetCallTrace's stack is refuted there, so the profile must have the recovered
 * one.
 *
 * @test
 * @summary stacks that AsyncGetCallTrace cuts short are shown whole
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
        // Both walkers walk one sample in sixteen. There may be too few if the interpreter alone
        // runs, or the machine is slow.
        Skip.unless(refuted >= 5, refuted + " stacks of AsyncGetCallTrace's in " + program.getName() + " are refuted");
        return run;
    }

    /** Nearly all samples in the method have its caller on their stacks. */
    private static void whole(Run run, String thread, String method, String caller) {
        List<Sample> samples = run.profile().track(thread).samples;
        long within = samples.stream().filter(sample -> sample.has(method)).count();
        long whole = samples.stream().filter(sample -> sample.has(method) && sample.has(caller)).count();
        Check.atLeast(50, within, "samples in " + method);
        Check.atLeast(0.8 * within, whole, "samples in " + method + " with " + caller);
    }
}
