/*
 * Four threads burn 10, 20, 30 and 40 % of the CPU time. With every engine, the profile must show
 * these shares as the kernel charged them. They are the main purpose of a profile, and a user
 * cannot check them. The engine must also reach its promised rate: perf by its number of samples,
 * timer by their weight.
 *
 * @test id=perf
 * @summary perf: each thread's weight is its CPU time, and at least 90 % of the due samples are
 * there
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main Shares perf
 */
/*
 * @test id=timer
 * @summary timer: each thread's weight is its CPU time
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main Shares timer
 */
/*
 * @test id=itimer
 * @summary itimer: each thread's weight is its CPU time
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main Shares itimer
 */
/*
 * @test id=poll
 * @summary poll: each thread's weight is its CPU time
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main Shares poll
 */
/*
 * @test id=hammer
 * @summary hammer: each thread's weight is its CPU time
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main Shares hammer
 */

import java.util.concurrent.CountDownLatch;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Skip;
import dev.vouch.test.Track;
import dev.vouch.test.Vm;

public class Shares {
    /** CPU time of all threads, in milliseconds. */
    private static final long TOTAL_MS = 4000;
    private static final int[] PERCENT = {10, 20, 30, 40};

    public static void main(String[] args) {
        String engine = args[0];
        String options = "interval=1ms,engine=" + engine;
        Run run = (engine.equals("hammer") ? Vm.lab(options) : Vm.with(options)).run(Program.class);
        Skip.ifEngineRefused(run);
        Report report = run.ok().report();
        Check.equal(engine, report.engine(), "engine in the report");

        double cpu = 0;
        double idle = 0;
        long samples = 0;
        for (int percent : PERCENT) {
            Report.ThreadRow row = report.thread(name(percent));
            // The test is meaningful only if the thread burnt its time and the kernel charged it.
            // The kernel may have charged some more.
            double burnt = run.number(name(percent)) / 1e6;
            double asked = TOTAL_MS * percent / 100.0;
            Check.atLeast(asked, burnt, "CPU time of " + row.name + ", in ms");
            idle += burnt - asked;
            Check.between(burnt, row.cpuMs, burnt + 30, "CPU time of " + row.name + " by the report, in ms");
            cpu += row.cpuMs;
            samples += row.samples;
            Track track = run.profile().track(row.name);
            report.checkConserved(row, track);
            Check.near(row.sampledMs, track.weight(), 0.5, "weight of " + row.name + " in the profile, in ms");
            // An engine that samples at random may lack some intervals of 1 ms for a thread.
            double owed = engine.equals("poll") ? report.chance(track) : 0;
            track.checkRan("dev.vouch.test.Burn.pieces", burnt - owed);
        }

        Check.near(1000, report.askedHz(), 0.01, "rate that was asked for");
        double programMs = report.cpuMs() - report.agentCpuMs();
        double reached = 1000 * report.signals() / programMs;
        Check.near(reached, report.reachedHz(), 0.02 * reached, "rate that was reached, from signals and CPU time");
        if (engine.equals("perf")) {
            // No signals come while the machine is suspended.
            Check.atLeast(0.9 * report.signalsIn(cpu - idle), samples, "samples of all threads");
        }
    }

    static String name(int percent) {
        return "percent-" + percent;
    }

    static class Program {
        public static void main(String[] args) throws InterruptedException {
            // Loads what a first call needs, so that it is not part of the work.
            Burn.millis(1);
            CountDownLatch go = new CountDownLatch(1);
            Thread[] threads = new Thread[PERCENT.length];
            long[] burnt = new long[PERCENT.length];
            for (int i = 0; i < threads.length; i++) {
                int place = i;
                threads[i] = new Thread(() -> {
                    awaitQuietly(go);
                    burnt[place] = Burn.pieces(TOTAL_MS * PERCENT[place] / 100);
                }, name(PERCENT[i]));
                threads[i].start();
            }
            go.countDown();
            for (int i = 0; i < threads.length; i++) {
                threads[i].join();
                System.out.println(name(PERCENT[i]) + "=" + burnt[i]);
            }
        }

        private static void awaitQuietly(CountDownLatch latch) {
            try {
                latch.await();
            } catch (InterruptedException error) {
                throw new AssertionError(error);
            }
        }
    }
}
