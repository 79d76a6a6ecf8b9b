/*
 * A virtual thread has no separate track. It burns the CPU time of its carrier, and there the user
 * must find its methods. That holds for a thread that never yields, and for one that parks and
 * continues on another carrier.
 *
 * @test
 * @summary The frames of virtual threads are on their carriers' tracks
 * @requires jdk.version.major >= 21
 * @library /lib
 * @build dev.vouch.test.*
 * @run main VirtualThreads
 */

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Track;
import dev.vouch.test.Vm;

public class VirtualThreads {
    private static final String CARRIER = "ForkJoinPool-1-worker-";

    public static void main(String[] args) {
        Run run = Vm.with("interval=1ms").run(Program.class).ok();
        Check.equal("true", run.value("virtual"), "the program's threads are virtual");
        Check.atLeast(2 * Program.THREADS * Program.PARKS / 2, run.number("parked"), "times that a virtual thread parked");

        double cpu = 0;
        for (Report.ThreadRow row : run.report().threads()) {
            cpu += row.name.startsWith(CARRIER) ? row.cpuMs : 0;
        }
        Check.atLeast(200, cpu, "CPU time of the carriers by the kernel, in ms");
        long straight = 0;
        long parking = 0;
        long all = 0;
        for (Track track : run.profile().tracks) {
            long here = track.weightOf("VirtualThreads$Program.straight") + track.weightOf("VirtualThreads$Program.parking");
            if (track.name.startsWith(CARRIER)) {
                straight += track.weightOf("VirtualThreads$Program.straight");
                parking += track.weightOf("VirtualThreads$Program.parking");
                all += track.weight();
            } else {
                Check.equal(0, here, "weight of the virtual threads' work in " + track);
            }
        }
        Check.near(cpu, all, 0.1 * cpu, "sampled time of the carriers, in ms");
        System.out.println("of " + all + " ms on the carriers, " + straight + " are straight work and " + parking + " between parks");
        // Both kinds do the same work, and the carriers have nothing else to do.
        Check.atLeast(0.35 * all, straight, "weight of the threads that never yield, in ms");
        Check.atLeast(0.35 * all, parking, "weight of the threads that park, in ms");
        Check.atLeast(0.8 * all, straight + parking, "weight of the virtual threads, in ms");
    }

    static class Program {
        static final int THREADS = 4;
        static final int PARKS = 20;
        /**
         * The steps of each thread. A virtual thread cannot read its CPU time, so steps are
         * counted.
         */
        private static final int STEPS = 200;
        private static int parks;

        public static void main(String[] args) throws Exception {
            Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                threads.add((Thread) start.invoke(null, (Runnable) Program::straight));
                threads.add((Thread) start.invoke(null, (Runnable) Program::parking));
            }
            System.out.println("virtual=" + Thread.class.getMethod("isVirtual").invoke(threads.get(0)));
            for (Thread thread : threads) {
                thread.join();
            }
            System.out.println("parked=" + parks);
        }

        private static void straight() {
            for (int i = 0; i < STEPS; i++) {
                work();
            }
        }

        private static void parking() {
            for (int i = 0; i < STEPS; i++) {
                work();
                if (i % (STEPS / PARKS) == 0) {
                    park();
                }
            }
        }

        private static void park() {
            try {
                Thread.sleep(1);
                synchronized (Program.class) {
                    parks++;
                }
            } catch (InterruptedException error) {
                throw new AssertionError(error);
            }
        }

        private static void work() {
            Burn.sink += Burn.work(300_000);
        }
    }
}
