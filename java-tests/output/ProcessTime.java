/*
 * The head of `vouch top` divides the CPU time that the kernel charged the process: into samples,
 * Vouch's own threads, and the rest. The program asks the kernel itself, so all of it and Vouch's
 * part are compared with a second clock. One busy thread leaves a small rest. Signal handlers run
 * on the program's threads: if they were counted beside the samples, the parts would be more than
 * the whole.
 *
 * @test id=perf
 * @summary perf: vouch top divides all CPU time of the process, and little is not sampled
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=200 ProcessTime perf
 */
/*
 * @test id=timer
 * @summary timer: vouch top divides all CPU time of the process, and little is not sampled
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=200 ProcessTime timer
 */

import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Locale;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.sun.management.OperatingSystemMXBean;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Skip;
import dev.vouch.test.Tool;
import dev.vouch.test.Vm;

public class ProcessTime {
    private static final long MS = 2_000;
    /** The part of the process's time by which it may differ from the program's own clock. */
    private static final double NEAR = 0.02;
    /** The part of the process's time that may be missing, such as less than an interval. */
    private static final double MISSING = 0.03;

    public static void main(String[] args) throws Exception {
        Run run = Vm.with("interval=1ms,engine=" + args[0]).flags("-Xmx128m").run(Program.class, Long.toString(MS));
        Skip.ifEngineRefused(run);
        run.ok();
        boolean isKernelSeen = run.report().engineNotes().stream().noneMatch(note -> note.contains("time inside the kernel is not sampled"));
        Skip.unless(isKernelSeen, "perf does not see the kernel here");
        JsonObject table = JsonParser.parseString(top(run, "--json", "--rows", "100000")).getAsJsonObject();
        JsonObject process = table.getAsJsonObject("process");
        double whole = process.get("cpu_ms").getAsDouble();
        double sampled = process.get("sampled_ms").getAsDouble();
        double vouch = process.get("vouch_ms").getAsDouble();
        double missing = process.get("not_sampled_ms").getAsDouble();
        System.out.println(process + ", the program's own clock: " + run.out);

        double rows = 0;
        for (JsonElement row : table.getAsJsonArray("rows")) {
            rows += row.getAsJsonObject().get("self_ms").getAsDouble();
        }
        Check.near(rows, sampled, 1e-6, "ms of all rows");
        Check.near(run.report().agentCpuMs(), vouch, 1e-6, "ms of Vouch's own threads");
        // The program asks before the agent is done. The agent does not count what its threads ran
        // before the recording began.
        double atEnd = run.number("vouch_ns") / 1e6;
        Check.between(Math.max(Double.MIN_VALUE, 0.9 * atEnd), vouch, atEnd + NEAR * whole, "ms of Vouch's own threads");
        double handlers = process.get("handler_ms").getAsDouble();
        Check.between(Double.MIN_VALUE, handlers, sampled, "ms of signal handlers");
        Check.near(whole, sampled + vouch + missing, 1e-6, "ms of all parts");
        // The recording begins before the program reads its clock, and ends after it did so last.
        double before = run.number("before_ns") / 1e6;
        double after = run.number("after_ns") / 1e6;
        Check.between((1 - NEAR) * (after - before), whole, (1 + NEAR) * after + vouch, "ms of the process");
        Check.near(0, missing, MISSING * whole, "ms that are not sampled");

        String text = top(run);
        Check.contains(text, "process CPU time ", "the head of vouch top");
        Check.contains(text, String.format(Locale.ROOT, "%.1f ms", vouch), "the row of Vouch's own threads");
        Check.contains(top(run, "--by", "thread"), " [Vouch]\n", "the table of threads");
    }

    private static String top(Run run, String... options) throws Exception {
        String[] arguments = new String[options.length + 2];
        arguments[0] = "top";
        arguments[1] = "profile.json";
        System.arraycopy(options, 0, arguments, 2, options.length);
        return Tool.vouch(run.dir, arguments).ok();
    }

    static class Program {
        public static void main(String[] args) throws IOException {
            OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
            long before = system.getProcessCpuTime();
            Burn.millis(Long.parseLong(args[0]));
            System.out.println("before_ns=" + before);
            System.out.println("after_ns=" + system.getProcessCpuTime());
            System.out.println("vouch_ns=" + vouchNanos());
        }

        /** The CPU time of Vouch's threads as the kernel has it; 0 if it has none here. */
        private static long vouchNanos() throws IOException {
            long nanos = 0;
            for (File thread : new File("/proc/self/task").listFiles()) {
                File statistics = new File(thread, "schedstat");
                if (statistics.exists() && text(new File(thread, "comm")).startsWith("Vouch")) {
                    nanos += Long.parseLong(text(statistics).split(" ")[0]);
                }
            }
            return nanos;
        }

        private static String text(File file) throws IOException {
            return new String(Files.readAllBytes(file.toPath()), StandardCharsets.UTF_8);
        }
    }
}
