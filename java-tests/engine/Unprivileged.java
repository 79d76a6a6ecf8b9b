/*
 * An ordinary user has perf_event_paranoid=2, the kernel's default. Then perf works but is blind to
 * time inside the kernel. Such a profile looks complete, so the report and the summary must say
 * what is missing.
 *
 * @test
 * @summary perf without privileges works, and says that the kernel's time is missing
 * @key perf newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main Unprivileged
 */

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;

import dev.vouch.test.Burn;
import dev.vouch.test.Burning;
import dev.vouch.test.Check;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Skip;
import dev.vouch.test.Tool;
import dev.vouch.test.Vm;

public class Unprivileged {
    private static final String[] DROP = {"setpriv", "--bounding-set", "-sys_admin,-perfmon"};

    public static void main(String[] args) throws Exception {
        Path setting = Paths.get("/proc/sys/kernel/perf_event_paranoid");
        String level = Files.exists(setting) ? new String(Files.readAllBytes(setting), StandardCharsets.US_ASCII).trim() : "?";
        Skip.unless(level.equals("2"), "perf_event_paranoid is " + level + ", and this is about 2");
        Vm vm = Vm.with("verbose,interval=1ms");
        if (System.getProperty("user.name").equals("root")) {
            Skip.unless(canDrop(), "root's privileges cannot be dropped here: setpriv is missing, or may not do it");
            vm.launcher(DROP);
        }
        Run run = vm.run(Burning.class).ok();
        Skip.unless(!run.report().engine().equals("timer"), "this system refuses perf altogether: " + run.report().engineNotes());

        Check.equal("perf", run.report().engine(), "engine without privileges");
        String note = "time inside the kernel is not sampled (perf_event_paranoid=2): engine=timer has it";
        Check.contains(run.report().engineNotes(), note, "notes in the report");
        Check.contains(run.vouchLines(), "[vouch] " + note, "summary");
        long weight = run.profile().track("main").weightOf(Burning.METHOD);
        // Reading the clock is a system call and part of the work. Steal time is no CPU time, but
        // the event's timer goes on meanwhile.
        double most = Math.max(run.number("cpu_ms"), run.number("wall_ms"));
        Check.between(0.5 * run.number("cpu_ms"), weight, 1.1 * most, "weight of burn");
        dumped(vm);
    }

    /**
     * Work while a profile is written is counted by its signals. None of them may be lost
     * meanwhile.
     */
    private static void dumped(Vm vm) throws Exception {
        Path here = Paths.get("").toAbsolutePath();
        try (Running child = vm.start(Program.class)) {
            child.awaitOut("begun");
            for (int dump = 0; dump < 4; dump++) {
                Tool.vouch(here, "dump", Long.toString(child.pid()), "--out", "dump.json").ok();
            }
            child.stdin().println();
            Run run = child.waitFor().ok();
            Report.ThreadRow main = run.report().thread("main");
            long lost = run.report().unwalkedCodes().getOrDefault("not_signalled", 0L);
            Skip.unless(lost > 0, "no dump took so long that a signal came meanwhile");
            Check.atLeast(0.93 * main.cpuMs, main.sampledMs, "ms of main that were sampled, or due while a dump was written");
        }
    }

    /** Has enough different stacks that writing them takes a while. */
    static class Program {
        private static volatile boolean over;

        public static void main(String[] args) throws IOException {
            Thread ends = new Thread(() -> {
                try {
                    System.in.read();
                } catch (IOException error) {
                    throw new AssertionError(error);
                }
                over = true;
            });
            ends.start();
            int depth = 0;
            long began = System.nanoTime();
            boolean said = false;
            while (!over) {
                down(depth++ % 1_500);
                if (!said && System.nanoTime() - began > 1_000_000_000L) {
                    said = true;
                    System.out.println("begun");
                }
            }
        }

        private static long down(int depth) {
            return depth == 0 ? Burn.work(2_000) : down(depth - 1) + Burn.work(20);
        }
    }

    private static boolean canDrop() throws InterruptedException {
        try {
            return new ProcessBuilder(DROP[0], DROP[1], DROP[2], "true").start().waitFor() == 0;
        } catch (IOException none) {
            return false;
        }
    }
}
