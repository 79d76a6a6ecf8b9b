/*
 * A service runs without Vouch and may not be restarted. Its engineer runs `vouch` with the process
 * id or the name. All results and errors must appear in the engineer's terminal and nowhere else.
 * However the command ends, the engineer has a profile, and no unwanted recording goes on in the
 * service.
 *
 * @test
 * @summary vouch list, attach, start, status, dump and stop
 * @key attach newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=300 AttachCommands
 */

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Memory;
import dev.vouch.test.Profile;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Scale;
import dev.vouch.test.Tool;
import dev.vouch.test.Vm;

public class AttachCommands {
    /** A name that no other JVM on this machine has. */
    private final String name;
    private final Running service;
    private final String pid;
    private final Path dir;
    private Profile whileProfile;
    private Profile keyProfile;

    private AttachCommands(Running service, String name) {
        this.service = service;
        this.name = name;
        pid = Long.toString(service.pid());
        dir = service.dir;
    }

    public static void main(String[] args) throws Exception {
        try (Running child = Vm.without().flags("-Xms32m", "-Xmx32m", "-XX:+AlwaysPreTouch", "-XX:+IgnoreUnrecognizedVMOptions", "-XX:+EnableDynamicAgentLoading").start(Service.class)) {
            child.awaitOut("ready");
            AttachCommands attached = new AttachCommands(child, "AttachCommands$Service");
            attached.listed("-");
            attached.forAWhile();
            attached.quietly();
            attached.untilAKey();
            attached.asOne();
            attached.stepByStep();
            attached.later();
            attached.often();
            attached.atOnce();
            attached.atLength();
            attached.mistakes();
            attached.untilItIsKilled();
            Run run = child.waitForAnyEnd();
            Check.empty(run.err, "what the service's own stderr was told");
        }
        Check.empty(Tool.folders(), "folders in /tmp of commands that have ended");
    }

    private void listed(String vouch) throws Exception {
        String list = Tool.vouch(dir, "list").ok();
        Check.that(list.matches("(?s).*(^|\n) *" + pid + "  \\S+ +\\S+ +" + vouch + " +AttachCommands\\$Service(\n.*|$)"),
            "the service is not listed as " + vouch + ":\n" + list);
    }

    private void forAWhile() throws Exception {
        String said = Tool.vouch(dir, "attach", pid, "--duration", "300ms", "--out", "while.json", "--report", "while-report.json").ok();
        Check.contains(said, "[vouch] recording process " + pid + ", " + name, "what attach says first");
        Check.contains(said, "while.json", "what attach says at the end");
        whileProfile = holds("while.json");
        Check.atLeast(300, Report.read(dir.resolve("while-report.json")).wallMs(), "length of the recording");
        listed("loaded");
    }

    private void quietly() throws Exception {
        String said = Tool.vouch(dir, "attach", pid, "--duration", "100ms", "--out", "quiet.json", "--quiet").ok();
        Check.equal("", said, "what attach says under --quiet");
        Check.that(Files.exists(dir.resolve("quiet.json")), "the profile is written");
    }

    private void untilAKey() throws Exception {
        try (Running attach = Tool.start(dir, "attach", pid, "--out", "key.json")) {
            attach.awaitErr("[vouch] recording process " + pid);
            listed("records");
            awaitSamples();
            attach.signal("INT");
            Run run = attach.waitForAnyEnd();
            Check.equal(0, run.exit, "exit code of an attach that a key has ended: " + run.err);
        }
        keyProfile = holds("key.json");
        listed("loaded");
    }

    /**
     * Merges two successive recordings of one process into one profile. Overlapping recordings are
     * refused, since their samples would count twice.
     */
    private void asOne() throws Exception {
        String said = Tool.vouch(dir, "merge", "key.json", "while.json", "--out", "one.json").ok();
        Check.contains(said, "2 files, 1 process,", "what merge says");
        Profile one = holds("one.json");
        Check.equal(keyProfile.weight() + whileProfile.weight(), one.weight(), "what all samples weigh together");
        Check.equal(1, one.tracks("main").size(), "tracks of the thread main");
        Check.contains(Tool.vouch(dir, "merge", "one.json", "key.json", "--out", "twice.json").refused(), "would count twice", "a time that two have");
    }

    private void stepByStep() throws Exception {
        Check.contains(Tool.vouch(dir, "start", pid, "--out", "steps.json", "--interval", "2ms", "--quiet").ok(), "vouch stop " + pid, "what start says");
        String status = awaitSamples();
        Check.that(status.matches("(?s)\\[vouch\\] recording for [\\d.]+ s: .* % of Java proven, .* [1-9][\\d,]* signals .*; engine \\w+ at 2ms; .*"), "status: " + status);
        Check.that(!Files.exists(dir.resolve("steps.json")), "something is written before it is asked for");
        Tool.vouch(dir, "dump", pid).ok();
        holds("steps.json");
        Tool.vouch(dir, "stop", pid, "--out", "stopped.json").ok();
        holds("stopped.json");
        Check.contains(Tool.vouch(dir, "status", pid).ok(), "no recording is running", "status after the end");
    }

    /** The message about a delayed recording must not say that it runs already. */
    private void later() throws Exception {
        String said = Tool.vouch(dir, "start", pid, "--out", "later.json", "--start", "1h", "--duration", "5s").ok();
        Check.contains(said, "process " + pid + " will be recorded: it ends after 5s, and `vouch stop " + pid + "` ends it", "what start says");
        Check.contains(Tool.vouch(dir, "stop", pid).ok(), "is called off", "what stop says before it has begun");
        Check.that(!Files.exists(dir.resolve("later.json")), "there is a profile of a recording that never began");
    }

    /** Each recording must release its files, threads and memory. */
    private void often() throws Exception {
        Path files = Paths.get("/proc", pid, "fd");
        Path threads = Paths.get("/proc", pid, "task");
        long before = Run.files(files).size();
        long threadsBefore = Run.files(threads).size();
        long memoryBefore = Memory.kib("VmRSS", pid);
        int times = Scale.pick(10, 1_000);
        for (int time = 0; time < times; time++) {
            Tool.vouch(dir, "start", pid, "--out", "often.json", "--quiet").ok();
            Tool.vouch(dir, "stop", pid, "--quiet").ok();
        }
        // A file that is open for a moment, or one more compiler thread, is no leak.
        int most = Scale.pick(5, 50);
        Check.atMost(before + most, Run.files(files).size(), "open files of the service");
        Check.atMost(threadsBefore + most, Run.files(threads).size(), "threads of the service");
        // 1,000 recordings (the long form) reveal a leak of 10 KiB each; 10 recordings reveal 1 MiB
        // each.
        Check.atMost(memoryBefore + (10 << 10) + times * 10, Memory.kib("VmRSS", pid), "memory of the service, in KiB");
    }

    /**
     * Starts many recordings at once: those that come second get an error, and the running one goes
     * on.
     */
    private void atOnce() throws Exception {
        List<Running> all = new ArrayList<>();
        for (int times = 0; times < 20; times++) {
            all.add(Tool.start(dir, "attach", pid, "--duration", "20ms", "--out", "at-once-" + times + ".json"));
        }
        int recorded = 0;
        for (int times = 0; times < all.size(); times++) {
            try (Running one = all.get(times)) {
                Run run = one.waitForAnyEnd();
                boolean has = Files.exists(dir.resolve("at-once-" + times + ".json"));
                Check.equal(run.exit == 0, has, "one of twenty has a profile, that ended with " + run.exit + ": " + run.err);
                if (has) {
                    recorded++;
                } else {
                    Check.contains(String.join("; ", run.err), "vouch: a recording is running already", "what another of twenty is told");
                }
            }
        }
        Check.atLeast(1, recorded, "recordings of twenty that wanted one");
    }

    /** Sends more than version 1 of the attach protocol allows: older JVMs get a clear error. */
    private void atLength() throws Exception {
        String threads = "main" + String.join("", Collections.nCopies(300, "|nobody"));
        Tool attach = Tool.vouch(dir, "attach", pid, "--duration", "50ms", "--threads", threads, "--out", "long.json");
        if (Vm.major() >= 24) {
            attach.ok();
            Check.that(Files.exists(dir.resolve("long.json")), "there is no profile of " + attach.text);
        } else {
            Check.contains(attach.refused(), "accepts at most 1024 characters", "what an older JVM is not even told");
        }
    }

    /** The agent's objections appear in the user's terminal, and the service runs on. */
    private void mistakes() throws Exception {
        String engine = Tool.vouch(dir, "attach", pid, "--engine", "prof", "--out", "none.json").refused();
        Check.contains(engine, "engine=prof: must be one of auto, perf, timer, itimer", "a bad value");
        Check.contains(Tool.vouch(dir, "start", pid, "--out", "/nowhere/at/all.json").refused(), "the folder of /nowhere/at/all.json does not exist", "a bad place");
        Check.contains(Tool.vouch(dir, "stop", pid).refused(), "no recording is running", "stop without a recording");
        Tool.vouch(dir, "start", pid, "--out", "one.json").ok();
        Check.contains(Tool.vouch(dir, "attach", pid, "--out", "two.json").refused(), "a recording is running already", "a second recording");
        Tool.vouch(dir, "stop", pid).ok();
        Check.that(Files.exists(dir.resolve("one.json")) && !Files.exists(dir.resolve("two.json")), "the first one goes on");
        folderIsGone();
    }

    /** If the output folder disappears, a recording can still be written to other files. */
    private void folderIsGone() throws Exception {
        Path folder = Files.createDirectory(dir.resolve("gone"));
        Tool.vouch(dir, "start", pid, "--out", "gone/away.json", "--report", "gone/away-report.json", "--recording", "off").ok();
        Files.delete(folder);
        for (String verb : new String[] {"dump", "stop"}) {
            Check.contains(Tool.vouch(dir, verb, pid).refused(), "name other files: `vouch " + verb + " PID --out FILE --report FILE.json`", verb);
        }
        Tool.vouch(dir, "stop", pid, "--out", "rescued.json", "--report", "rescued-report.json").ok();
        Check.that(Files.exists(dir.resolve("rescued.json")), "the profile is elsewhere");
    }

    private void untilItIsKilled() throws Exception {
        try (Running attach = Tool.start(dir, "attach", pid, "--out", "killed.json")) {
            attach.awaitErr("[vouch] recording process " + pid);
            awaitSamples();
            service.signal("KILL");
            attach.awaitErr("[vouch] a JVM was killed or crashed");
            Check.equal(0, attach.waitForAnyEnd().exit, "exit code of an attach whose JVM was killed");
        }
        holds("killed.json");
        Check.that(!Files.exists(dir.resolve("killed.vouch")), "the recording stays though its profile is made");
    }

    /** Waits until some samples are recorded, in memory and on disk. Returns the status. */
    private String awaitSamples() throws Exception {
        return Tool.awaitSamples(dir, pid);
    }

    private Profile holds(String file) {
        Profile profile = Profile.read(dir.resolve(file));
        Check.atLeast(1, profile.track("main").weightOf("AttachCommands$Service.serve"), "weight of serve in " + file);
        return profile;
    }

    static class Service {
        public static void main(String[] args) throws IOException {
            System.out.println("ready");
            while (System.in.available() == 0) {
                serve();
            }
        }

        private static void serve() {
            Burn.millis(5);
        }
    }
}
