/*
 * Where AsyncGetCallTrace walks alone it passes over what still lies elsewhere of a virtual thread
 * that has parked. That is no stack, and not a wrong one.
 *
 * @test
 * @summary A virtual thread's stack in which frames are lacking is none
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
        // Our own walker has no guard there, and stands aside.
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
