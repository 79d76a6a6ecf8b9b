/*
 * Most JVMs that die in production run out of memory. Either the heap is full and a flag ends the
 * process, or the kernel kills it in its container. In neither case can an agent write anything.
 *
 * @test id=heap
 * @summary a JVM that exits because of a full heap has its profile
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main OutOfMemory heap
 */

/*
 * @test id=container
 * @summary a JVM that the kernel kills because of its memory has its profile
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main OutOfMemory container
 */

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import dev.vouch.test.AwaitRecording;
import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Profile;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Skip;
import dev.vouch.test.Tool;
import dev.vouch.test.Vm;

public class OutOfMemory {
    public static void main(String[] args) throws Exception {
        if (args[0].equals("heap")) {
            ended("-XX:+ExitOnOutOfMemoryError", 3);
            ended("-XX:+CrashOnOutOfMemoryError", 134);
        } else {
            killed();
        }
    }

    /** A flag that services use ends the JVM; `vouch run` makes the profile. */
    private static void ended(String flag, int exit) throws IOException {
        Path dir = Files.createTempDirectory(Paths.get("").toAbsolutePath(), "run-");
        String java = Vm.jdk().resolve("bin/java").toString();
        try (Running vouch = Tool.start(dir, Arrays.asList("sh", "-c", "ulimit -c 0; exec \"$@\"", "sh"), "run", "--out", "all.json", "--report",
            "report.json", "--", java, "-Xmx64m", flag, "-cp", Vm.classPath(), Fills.class.getName(), "1000", "all.vouch")) {
            Run run = vouch.waitForAnyEnd();
            Check.equal(exit, run.exit, "exit code with " + flag);
            Check.contains(run.vouchLines().toString(), "a JVM was killed or crashed", "what is said of a JVM with " + flag);
        }
        holds(dir.resolve("all.json"), dir.resolve("report.json"));
        Check.that(!Files.exists(dir.resolve("all.vouch")), "the recording stays though its profile is made");
    }

    private static void killed() throws Exception {
        Path group = group();
        Run run;
        String killed;
        try {
            // The kernel kills the largest process of the group, or all of them. The shell joins
            // the group and then replaces itself by the JVM.
            try (Running child = Vm.with("").flags("-Xmx1g").launcher("sh", "-c", "g=$1; shift; echo $$ >$g/cgroup.procs && exec \"$@\"", "sh",
                group.toString()).start(Fills.class, "700", "profile.vouch")) {
                run = child.waitForAnyEnd();
            }
            killed = text(group.resolve("memory.events")) + text(group.resolve("memory.oom_control"));
        } finally {
            remove(group);
        }
        Check.that(!run.out.contains("running") || run.exit == 137 || run.out.contains("there was room for all"), "it ended otherwise: " + run.err);
        Skip.unless(killed.matches("(?s).*oom_kill [1-9].*"), "the kernel does not say that it has killed for memory: " + killed + run.err);
        Check.equal(137, run.exit, "exit code of a JVM that the kernel has killed");
        Tool.vouch(run.dir, "recover", "profile.vouch", "--out", "all.json", "--report", "got.json").ok();
        holds(run.dir.resolve("all.json"), run.dir.resolve("got.json"));
    }

    /** A control group, of version 1 or 2, with less memory than the program needs. */
    private static Path group() throws Exception {
        String limit = Long.toString(400L << 20);
        List<String> tried = new ArrayList<>();
        for (String root : new String[] {"/sys/fs/cgroup/memory", "/sys/fs/cgroup"}) {
            Path group = Paths.get(root, "vouch-test-" + Running.ownPid());
            try {
                Files.createDirectory(group);
            } catch (IOException refused) {
                tried.add(root + ": " + refused);
                continue;
            }
            if (set(group, "memory.limit_in_bytes", limit) || set(group, "memory.max", limit)) {
                // With swap the remaining memory would be swapped out.
                set(group, "memory.swappiness", "0");
                set(group, "memory.swap.max", "0");
                return group;
            }
            tried.add(root + ": memory has no limit that can be set");
            remove(group);
        }
        Skip.unless(false, "no control group can be made: " + tried);
        return null;
    }

    private static boolean set(Path group, String name, String value) {
        try {
            Files.write(group.resolve(name), value.getBytes(StandardCharsets.US_ASCII), StandardOpenOption.WRITE);
            return true;
        } catch (IOException refused) {
            return false;
        }
    }

    /** Removes the group as soon as the kernel has finished with its processes. */
    private static void remove(Path group) throws InterruptedException {
        for (int times = 0; times < 100 && Files.exists(group); times++) {
            try {
                Files.delete(group);
            } catch (IOException busy) {
                Thread.sleep(50);
            }
        }
    }

    private static String text(Path file) throws IOException {
        return Files.exists(file) ? new String(Files.readAllBytes(file), StandardCharsets.US_ASCII) : "";
    }

    /** The profile must contain all CPU time up to the filling of the heap. */
    private static void holds(Path profile, Path report) {
        Profile.read(profile).track("main").checkRan("OutOfMemory$Fills.burn", Fills.MILLIS);
        Check.equal(0, Report.read(report).samples("dropped"), "samples that are lost");
    }

    static class Fills {
        static final int MILLIS = 500;
        private static final List<byte[]> KEPT = new ArrayList<>();

        public static void main(String[] args) throws IOException {
            System.out.println("running");
            burn();
            AwaitRecording.burnUntilAllIs(Paths.get(args[1]));
            for (int megabytes = 0; megabytes < Integer.parseInt(args[0]); megabytes++) {
                byte[] kept = new byte[1 << 20];
                Arrays.fill(kept, (byte) 1);
                KEPT.add(kept);
                Burn.millis(1);
            }
            System.out.println("there was room for all");
        }

        private static void burn() {
            Burn.millis(MILLIS);
        }
    }
}
