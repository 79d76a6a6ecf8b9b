/*
 * If the collector or the compilers use a program's CPU time, the profile must say so. Their
 * threads are in it under their names, with samples that count as `outside`. Otherwise users would
 * look for the missing time in their own code.
 *
 * @test id=perf
 * @summary perf: GC and JIT threads are sampled, as outside
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main VmThreads perf
 */
/*
 * @test id=timer
 * @summary timer: GC and JIT threads are sampled, as outside
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main VmThreads timer
 */
/*
 * @test id=itimer
 * @summary itimer: GC and JIT threads are sampled, as outside
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main VmThreads itimer
 */

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.Skip;
import dev.vouch.test.Track;
import dev.vouch.test.Vm;

public class VmThreads {
    public static void main(String[] args) {
        // Uses the same collector on all JDKs, and makes the compilers work at once.
        Run run = Vm.with("interval=1ms,engine=" + args[0]).collector("-XX:+UseParallelGC")
            .flags("-Xmx128m", "-Xmn16m", "-XX:ParallelGCThreads=2", "-Xcomp", "-XX:TieredStopAtLevel=1")
            .run(Program.class);
        Skip.ifEngineRefused(run);
        Report report = run.ok().report();
        Check.atLeast(20, run.number("collections"), "collections that the program caused");
        Check.atLeast(100, run.number("compiled_ms"), "milliseconds that the JVM says it compiled");

        long outside = inThreads(run, "C1 CompilerThread\\d+", "JIT compiler")
            + inThreads(run, "(ParGC Thread|GC Thread|GC task thread)#\\d.*", "GC");
        Check.between(outside, report.samples("outside"), report.signals(), "samples counted as outside");
    }

    /**
     * Counts the samples of threads with such names. There must be some, all of this kind and
     * without a stack.
     */
    private static long inThreads(Run run, String name, String kind) {
        double cpu = 0;
        for (Report.ThreadRow row : run.report().threads()) {
            if (row.name.matches(name)) {
                cpu += row.cpuMs;
                run.report().checkConserved(row);
                Check.equal(0, row.unwalked, "unwalked samples of " + row.name);
            }
        }
        Check.atLeast(100, cpu, "CPU time of the threads " + name + " by the kernel, in ms");
        long samples = 0;
        for (Track track : run.profile().tracks) {
            if (track.name.matches(name)) {
                for (Sample sample : track.samples) {
                    samples++;
                    Check.equal(1, sample.depth(), "frames of a sample in " + track.name);
                    Check.equal("[" + kind + "]", sample.leaf().function, "what stands in a sample of " + track.name);
                    Check.equal("VM", sample.leaf().category, "category of " + sample);
                    Check.equal(kind, sample.leaf().subcategory, "subcategory of " + sample);
                }
            }
        }
        // If the kernel's tick is the only signal, it may come every ten milliseconds.
        Check.atLeast(cpu / 30, samples, "samples of the threads " + name + "");
        return samples;
    }

    static class Program {
        private static final Object[] KEPT = new Object[200_000];

        public static void main(String[] args) {
            long collections = 0;
            for (int at = 0; collections < 40; at++) {
                // Surviving objects give the collector work.
                KEPT[at % KEPT.length] = new Object[] {new long[20], at};
                if (at % 100_000 == 0) {
                    collections = collections();
                }
            }
            Burn.sink += KEPT.length;
            System.out.println("collections=" + collections);
            System.out.println("compiled_ms=" + ManagementFactory.getCompilationMXBean().getTotalCompilationTime());
        }

        private static long collections() {
            long count = 0;
            for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
                count += collector.getCollectionCount();
            }
            return count;
        }
    }
}
