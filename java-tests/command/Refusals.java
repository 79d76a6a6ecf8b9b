/*
 * Attaching can fail for reasons that lie in the JVM, in the one who attaches, or in a shared /tmp.
 * Each is to have its sentence where he types, within seconds; the process that was meant runs on,
 * and one that would end of the signal never gets it.
 *
 * @test
 * @summary what cannot be attached to says why
 * @key attach newest
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
        // Who does not listen is waited for, ten seconds: meanwhile comes all else.
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
        told("-XX:+DisableAttachMechanism", "-XX:+DisableAttachMechanism: it takes no commands");
        if (Vm.major() >= 9) {
            told("-XX:-EnableDynamicAgentLoading", "lets no agent in while it runs");
        }
        stopped();
        left();
        planted();
    }

    private static void nobody() throws Exception {
        Check.contains(Tool.vouch(HERE, "attach", "4194305").refused(), "there is no process 4194305", "a process that is not there");
        Check.contains(Tool.vouch(HERE, "attach", "dev.vouch.NotThere").refused(), "runs dev.vouch.NotThere", "a name that nobody has");
        Check.contains(Tool.vouch(HERE, "stop", "").refused(), "the name is empty", "a variable that is not set");
        Process other = new ProcessBuilder("sleep", "100").start();
        try {
            String pid = Tool.vouch(HERE, "attach", Long.toString(Running.pid(other))).refused();
            Check.contains(pid, "is no JVM", "a process that is none");
            Check.that(other.isAlive(), "it was sent a signal");
        } finally {
            other.destroyForcibly();
        }
    }

    /** What its command line forbids. */
    private static void told(String flag, String sentence) throws Exception {
        try (Running child = Vm.without().flags(flag).start(Waits.class)) {
            child.awaitOut("ready");
            Check.contains(attach(child), sentence, "what is said of a JVM with " + flag);
            // As `top -H` has it: another thread than the first.
            try (Stream<Path> tasks = Files.list(Paths.get("/proc/" + child.pid() + "/task"))) {
                String own = Long.toString(child.pid());
                String task = tasks.map(path -> path.getFileName().toString()).filter(name -> !name.equals(own)).findFirst().get();
                Check.contains(Tool.vouch(HERE, "attach", task).refused(), task + " is a thread of process " + own, "a thread's number");
            }
            runsOn(child, 0);
        }
    }

    /** What nobody can see that its command line forbids: it was asked, and did not listen. */
    private static void deaf(Running child, Run attach) {
        String said = String.join("\n", attach.err);
        Check.equal(1, attach.exit, "exit code of vouch, which said: " + said);
        Check.that(said.startsWith("vouch: "), "it is said in one sentence: " + said);
        Check.contains(said, "did not answer within 10 s", "what is said of a JVM that does not listen");
        // It took the signal for a wish for a thread dump, as the JVM's own tools have it do.
        runsOn(child, 1);
    }

    private static void stopped() throws Exception {
        try (Running child = Vm.without().start(Waits.class)) {
            child.awaitOut("ready");
            child.signal("STOP");
            Check.contains(attach(child), "is stopped: let it go on first (kill -CONT " + child.pid() + ")", "what is said of a JVM that is stopped");
            child.signal("CONT");
            runsOn(child, -1);
        }
    }

    /**
     * The socket of a JVM that is gone, under the number of one that lives: a container's first
     * process has always the same.
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
     * A process of another user's can be called like a JVM, and have anything in the place of its
     * JDK: the list comes all the same.
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

    /** It ends well, with so many thread dumps on its stdout; -1 is any number. */
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
