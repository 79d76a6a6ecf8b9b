/*
 * AsyncGetCallTrace alone skips the frames of a parked virtual thread that are still in the heap.
 * Such a sample has no stack, and not a wrong one.
 *
 * @test
 * @summary A virtual thread's stack with missing frames counts as no stack
 * @key newest
 * @requires jdk.version.major >= 21
 * @library /lib
 * @build dev.vouch.test.*
 * @run main TornThreads
 */

import dev.vouch.test.Check;
import dev.vouch.test.Report;
import dev.vouch.test.Skip;
import dev.vouch.test.Vm;

public class TornThreads {
    private static final String CARRIER = "ForkJoinPool-1-worker-";

    public static void main(String[] args) {
        // With this flag Vouch's own walker has no guard, and does not walk.
        Report report = Vm.with("interval=1ms").flags("-Xcheck:jni").run(VirtualThreads.Program.class).ok().report();
        long samples = 0;
        long refuted = 0;
        long torn = 0;
        for (Report.ThreadRow row : report.threads()) {
            if (row.name.startsWith(CARRIER)) {
                samples += row.samples;
                refuted += row.refuted;
                torn += row.unwalked;
            }
        }
        System.out.println("of " + samples + " samples on the carriers " + torn + " have no stack, " + refuted + " are refuted");
        Skip.unless(torn + refuted >= 20, "the threads that park were hardly seen after it: " + torn + " times");
        Check.atMost(Check.mostOf(samples, 0.05), refuted, "refuted samples of the carriers");
    }
}
