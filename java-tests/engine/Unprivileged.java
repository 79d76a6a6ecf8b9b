/*
 * An ordinary user under perf_event_paranoid=2, the kernel's default: perf may be had, but is blind for the time inside
 * the kernel. Such a profile looks as good as any, so the report and the summary must say what is missing.
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

import dev.vouch.test.Burning;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Skip;
import dev.vouch.test.Vm;

public class Unprivileged {
    private static final String[] DROP = {"setpriv", "--bounding-set", "-sys_admin,-perfmon"};

    public static void main(String[] args) throws Exception {
        Path setting = Paths.get("/proc/sys/kernel/perf_event_paranoid");
        String level = Files.exists(setting) ? new String(Files.readAllBytes(setting), StandardCharsets.US_ASCII).trim() : "?";
        Skip.unless(level.equals("2"), "perf_event_paranoid is " + level + ", and this is about 2");
        Vm vm = Vm.with("interval=1ms");
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
        // Reading the clock is a system call, and part of the work.
        Check.between(0.5 * run.number("cpu_ms"), weight, 1.1 * run.number("cpu_ms"), "weight of burn");
    }

    private static boolean canDrop() throws InterruptedException {
        try {
            return new ProcessBuilder(DROP[0], DROP[1], DROP[2], "true").start().waitFor() == 0;
        } catch (IOException none) {
            return false;
        }
    }
}
