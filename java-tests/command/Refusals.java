/*
 * An attach can fail because of the JVM, the user or a shared /tmp. Each failure must have its own
 * message in the user's terminal within seconds. The target process must run on. A process that
 * SIGQUIT would kill must never get that signal.
 *
 * @test
 * @summary what cannot be attached to says why
 * @key attach newest waits
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=300 Refusals
 */

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.stream.Stream;

import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Tool;
import dev.vouch.test.Vm;

public class Refusals {
    private static final Path HERE = Paths.get("").toAbsolutePath();

    public static void main(String[] args) throws Exception {
        // `vouch attach` waits ten seconds for a JVM that does not answer. The other cases run
        // meanwhile.
        Path flags = Files.write(Files.createTempFile(HERE, "flags", ""), Arrays.asList("+DisableAttachMechanism"));
        try (Running deaf = Vm.without().flags("-XX:Flags=" + flags).start(Waits.class)) {
            deaf.awaitOut("ready");
            try (Running attach = Tool.start(deaf.dir, "attach", Long.toString(deaf.pid()), "--out", "none.json")) {
                all();
                deaf(deaf, attach.waitForAnyEnd());
            }
        }
        Check.empty(Tool.folders(), "folders in /tmp of commands that have ended");
    }

    private static void all() throws Exception {
        nobody();
        told("-XX:+DisableAttachMechanism", "-XX:+DisableAttachMechanism, so it accepts no commands");
        if (Vm.major() >= 9) {
            told("-XX:-EnableDynamicAgentLoading", "accepts no agent while it runs");
        }
        stopped();
        left();
        planted();
    }

    private static void nobody() throws Exception {
        Check.contains(Tool.vouch(HERE, "attach", "4194305").refused(), "process 4194305 does not exist", "a process that is not there");
        Check.contains(Tool.vouch(HERE, "attach", "dev.vouch.NotThere").refused(), "no running JVM has the name dev.vouch.NotThere", "a name that no JVM has");
        Check.contains(Tool.vouch(HERE, "stop", "").refused(), "the name is empty", "a variable that is not set");
        Process other = new ProcessBuilder("sleep", "100").start();
        try {
            String pid = Tool.vouch(HERE, "attach", Long.toString(Running.pid(other))).refused();
            Check.contains(pid, "is not a JVM", "a process without a JVM");
            Check.that(other.isAlive(), "it was sent a signal");
        } finally {
            other.destroyForcibly();
        }
    }

    /** If a JVM's command line forbids attaching, the message names the flag. */
    private static void told(String flag, String sentence) throws Exception {
        try (Running child = Vm.without().flags(flag).start(Waits.class)) {
            child.awaitOut("ready");
            Check.contains(attach(child), sentence, "what is said of a JVM with " + flag);
            // `top -H` shows thread ids: the message names the process of such a thread.
            try (Stream<Path> tasks = Files.list(Paths.get("/proc/" + child.pid() + "/task"))) {
                String own = Long.toString(child.pid());
                String task = tasks.map(path -> path.getFileName().toString()).filter(name -> !name.equals(own)).findFirst().get();
                Check.contains(Tool.vouch(HERE, "attach", task).refused(), task + " is a thread of process " + own, "a thread's number");
            }
            runsOn(child, 0);
        }
    }

    /**
     * This JVM forbids attaching in a flags file, which `vouch` cannot see. It signals the JVM and
     * waits in vain.
     */
    private static void deaf(Running child, Run attach) {
        String said = String.join("\n", attach.err);
        Check.equal(1, attach.exit, "exit code of vouch, which said: " + said);
        Check.that(said.startsWith("vouch: "), "it is said in one sentence: " + said);
        Check.contains(said, "did not answer within 10 s", "what is said of a JVM that does not listen");
        // The JVM printed a thread dump on SIGQUIT, as it does for the JDK's own tools.
        runsOn(child, 1);
    }

    private static void stopped() throws Exception {
        try (Running child = Vm.without().start(Waits.class)) {
            child.awaitOut("ready");
            child.signal("STOP");
            Check.contains(attach(child), "is stopped: continue it first (kill -CONT " + child.pid() + ")", "what is said of a JVM that is stopped");
            child.signal("CONT");
            runsOn(child, -1);
        }
    }

    /**
     * A dead JVM's socket remains in /tmp, and a new process has the same pid. In containers this
     * is usual, since the first process always has the same pid.
     */
    private static void left() throws Exception {
        Path socket;
        try (Running first = Vm.without().start(Waits.class)) {
            first.awaitOut("ready");
            Tool.vouch(HERE, "attach", Long.toString(first.pid()), "--duration", "10ms", "--out", "first.json").ok();
            socket = Paths.get("/tmp/.java_pid" + first.pid());
            Check.that(Files.exists(socket), "an attached JVM listens at " + socket);
            first.signal("KILL");
            first.waitForAnyEnd();
        }
        try (Running second = Vm.without().flags("-XX:+IgnoreUnrecognizedVMOptions", "-XX:+EnableDynamicAgentLoading").start(Waits.class)) {
            second.awaitOut("ready");
            Files.move(socket, Paths.get("/tmp/.java_pid" + second.pid()), StandardCopyOption.REPLACE_EXISTING);
            Tool.vouch(HERE, "attach", Long.toString(second.pid()), "--duration", "10ms", "--out", "second.json").ok();
            runsOn(second, 0);
        }
    }

    /**
     * Another user's process may look like a JVM and have a FIFO as its `release` file. `vouch
     * list` must not block on it.
     */
    private static void planted() throws Exception {
        Path home = Files.createDirectories(Files.createTempDirectory(HERE, "planted").resolve("lib"));
        Path library = Files.createFile(home.resolve("libjvm.so"));
        Check.equal(0, new ProcessBuilder("mkfifo", home.getParent().resolve("release").toString()).start().waitFor(), "exit code of mkfifo");
        Files.write(library, new byte[8192]);
        Process maps = new ProcessBuilder("python3", "-c",
            "import mmap,sys,time\nf=open(sys.argv[1],'rb')\nm=mmap.mmap(f.fileno(),0,prot=mmap.PROT_READ)\nprint('ready',flush=True)\ntime.sleep(100)",
            library.toString()).start();
        try {
            Check.equal((int) 'r', maps.getInputStream().read(), "the process maps its library");
            Check.contains(Tool.vouch(HERE, "list").ok(), Long.toString(Running.pid(maps)), "the list has it");
        } finally {
            maps.destroyForcibly();
        }
    }

    private static String attach(Running child) throws Exception {
        return Tool.vouch(child.dir, "attach", Long.toString(child.pid()), "--out", "none.json").refused();
    }

    /** The process exits well after it printed `dumps` thread dumps; -1 means any number. */
    private static void runsOn(Running child, int dumps) {
        child.stdin().println();
        Run run = child.waitFor().ok();
        long seen = run.out.stream().filter(line -> line.startsWith("Full thread dump")).count();
        Check.that(dumps < 0 || seen == dumps, "thread dumps: expected " + dumps + ", came " + seen);
        Check.that(!Files.exists(child.dir.resolve(".attach_pid" + child.pid())), "the trigger stays in the JVM's folder");
        Check.that(!Files.exists(Paths.get("/tmp/.attach_pid" + child.pid())), "the trigger stays in /tmp");
    }

    static class Waits {
        public static void main(String[] args) throws IOException {
            System.out.println("ready");
            System.in.read();
        }
    }
}
