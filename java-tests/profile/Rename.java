/*
 * Servers name a thread after its current request. The timeline must show each request's work under
 * its name. Each name has a track with the samples of that time and no others. The names here share
 * a prefix longer than the 15 characters that the kernel keeps.
 *
 * @test
 * @summary The samples of a thread that renames itself lie under the name that it had at the time
 * @library /lib
 * @build dev.vouch.test.*
 * @run main Rename
 */

import java.util.LinkedHashMap;
import java.util.Map;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Track;
import dev.vouch.test.Vm;

public class Rename {
    private static final String REQUEST = "request-handler-of-the-server-";
    private static final long MS = 80;

    public static void main(String[] args) {
        Run run = Vm.with("interval=1ms").run(Program.class).ok();

        Map<String, String> work = new LinkedHashMap<>();
        work.put(REQUEST + "idle", "idle");
        work.put(REQUEST + "first", "first");
        work.put(REQUEST + "second", "second");
        work.put("main", "atFirst");
        work.put("main, under another name", "later");
        for (Map.Entry<String, String> entry : work.entrySet()) {
            String name = entry.getKey();
            String method = "Rename$Program." + entry.getValue();
            // A thread that takes an earlier name again continues the same track.
            double cpu = name.endsWith("idle") ? 2 * MS : MS;
            Track track = run.profile().track(name);
            track.checkRan(method, cpu, name.endsWith("idle") ? 2 : 1, 1);
            for (Track other : run.profile().tracks) {
                if (other != track) {
                    Check.equal(0, other.weightOf(method), "weight of " + method + " in the wrong track, " + other);
                }
            }
            Report.ThreadRow row = run.report().thread(name);
            double burnt = run.number(entry.getValue() + ".burnt") / 1e6;
            Check.atLeast(cpu, burnt, "the trigger: what the thread has run in " + method + ", by itself, in ms");
            Check.between(burnt, row.cpuMs, run.number(entry.getValue() + ".most") / 1e6 + 30, "CPU time under the name " + name);
            Check.near(row.sampledMs, track.weight(), 0.5, "weight under the name " + name + ", in ms");
        }
        run.report().checkConserved(REQUEST + "first");
        run.report().checkConserved("main");
        sameThread(run, REQUEST + "idle", REQUEST + "first", REQUEST + "second");
        unsignalled();
    }

    /**
     * Checks that the main thread's unsignalled CPU time does not go to DestroyJavaVM, which the
     * same thread becomes afterwards. SIGPROF is blocked, so no signal arrives at all.
     */
    private static void unsignalled() {
        String blocked = "import os, signal, sys; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGPROF]); os.execv(sys.argv[1], sys.argv[1:])";
        Run run = Vm.with("interval=1ms,engine=timer").launcher("python3", "-c", blocked).run(Program.class).ok();
        Check.equal(0L, run.report().walked(), "the trigger: signals that came");
        Report.ThreadRow after = run.report().thread("DestroyJavaVM");
        Check.near(after.cpuMs, after.sampledMs, 2, "weight when main was over, in ms");
        Check.atLeast(2 * MS - 2, run.report().thread("main, under another name").sampledMs, "weight before, in ms");
    }

    /**
     * Checks that the names share one kernel thread, although their tracks must have distinct ids.
     */
    private static void sameThread(Run run, String first, String... others) {
        long tid = run.report().thread(first).tid;
        for (String other : others) {
            Check.equal(tid, run.report().thread(other).tid, "tid under the name " + other);
            Check.that(!run.profile().track(other).tid.equals(run.profile().track(first).tid), "tracks with one id: " + other);
            Check.equal("" + tid, run.profile().track(other).tid.replaceAll("\\..*", ""), "track's id under the name " + other);
        }
    }

    static class Program {
        public static void main(String[] args) throws Exception {
            // Class loading at a first call is not part of the work.
            Burn.millis(1);
            Thread handler = new Thread(Program::handle, "not yet started");
            handler.setName(REQUEST + "idle");
            handler.start();
            handler.join();

            ran("atFirst", atFirst(), 0);
            long begun = Burn.cpuNanos();
            Thread.currentThread().setName("main, under another name");
            ran("later", later(), begun);
            // Printing takes CPU time too, so a separate thread prints.
            Thread teller = new Thread(Program::tell);
            teller.start();
            teller.join();
        }

        /**
         * Nanoseconds per method: time in the method, then time under its thread name. Both use the
         * thread's CPU clock, which also advances while the machine stalls.
         */
        private static final Map<String, long[]> RAN = new LinkedHashMap<>();

        private static void ran(String method, long burnt, long begun) {
            long[] before = RAN.getOrDefault(method, new long[2]);
            RAN.put(method, new long[] {before[0] + burnt, before[1] + Burn.cpuNanos() - begun});
        }

        private static void tell() {
            for (Map.Entry<String, long[]> one : RAN.entrySet()) {
                System.out.println(one.getKey() + ".burnt=" + one.getValue()[0]);
                System.out.println(one.getKey() + ".most=" + one.getValue()[1]);
            }
        }

        private static void handle() {
            Thread self = Thread.currentThread();
            ran("idle", idle(), 0);
            long begun = Burn.cpuNanos();
            self.setName(REQUEST + "first");
            ran("first", first(), begun);
            begun = Burn.cpuNanos();
            self.setName(REQUEST + "second");
            ran("second", second(), begun);
            begun = Burn.cpuNanos();
            self.setName(REQUEST + "idle");
            ran("idle", idle(), begun);
        }

        private static long idle() {
            return Burn.millis(MS);
        }

        private static long first() {
            return Burn.millis(MS);
        }

        private static long second() {
            return Burn.millis(MS);
        }

        private static long atFirst() {
            return Burn.millis(MS);
        }

        private static long later() {
            return Burn.millis(MS);
        }
    }
}
