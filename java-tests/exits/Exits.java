/*
 * However a program ends, its profile must be whole and its exit code unchanged. It may end by the
 * end of main, System.exit, an uncaught exception, SIGTERM or Runtime.halt. Daemon threads may go
 * on while the profile is written. Services are nearly always ended from outside, and their users
 * want exactly those profiles.
 *
 * @test
 * @summary profile, report and exit code at every way to end
 * @library /lib
 * @build dev.vouch.test.*
 * @run main Exits
 */

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Vm;

public class Exits {
    private static final int BURNT_MS = 45;

    public static void main(String[] args) throws IOException {
        ends("return", 0);
        ends("exit", 3);
        ends("exit in another thread", 5);
        Run thrown = ends("throw", 1);
        Check.contains(thrown.otherErr().toString(), "IllegalStateException: the program's own", "stack trace of the program");
        ends("halt", 4);
        ends("daemons", 0);
        ends("hook", 6);
        terminated();
    }

    private static Run ends(String how, int code) throws IOException {
        Run run = Vm.with("interval=1ms").run(Program.class, how);
        Check.equal(code, run.exit, "exit code of " + how);
        whole(run);
        if (how.equals("hook")) {
            Check.atLeast(BURNT_MS / 3, run.profile().track("hook").weightOf("Exits$Program.inHook"), "weight of a shutdown hook");
        }
        return run;
    }

    private static void terminated() throws IOException {
        try (Running running = Vm.with("interval=1ms").start(Program.class, "run on")) {
            running.awaitOut("burnt");
            running.signal("TERM");
            Run run = running.waitFor();
            Check.equal(128 + 15, run.exit, "exit code after SIGTERM");
            whole(run);
        }
    }

    private static void whole(Run run) throws IOException {
        Check.equal("[burnt]", run.out.toString(), "the program's output");
        Check.equal("[profile.json, report.json]", run.files().toString(), "files that are left");
        for (String file : run.files()) {
            Check.equal("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(run.dir.resolve(file))),
                "permissions of " + file);
        }
        Check.atLeast(BURNT_MS / 3, run.profile().track("main").weightOf("Exits$Program.main"), "weight of main");
        Check.equal(run.report().signals() - run.report().samples("dropped"), run.profile().samples().size(), "samples in the profile");
    }

    static class Program {
        public static void main(String[] args) throws InterruptedException {
            if (args[0].equals("daemons")) {
                for (int i = 0; i < 4; i++) {
                    Thread daemon = new Thread(() -> Burn.millis(Integer.MAX_VALUE), "daemon");
                    daemon.setDaemon(true);
                    daemon.start();
                }
            }
            Burn.millis(BURNT_MS);
            System.out.println("burnt");
            switch (args[0]) {
                case "exit":
                    System.exit(3);
                    break;
                case "exit in another thread":
                    Thread other = new Thread(() -> System.exit(5));
                    other.start();
                    other.join();
                    break;
                case "throw":
                    throw new IllegalStateException("the program's own");
                case "halt":
                    Runtime.getRuntime().halt(4);
                    break;
                case "hook":
                    Runtime.getRuntime().addShutdownHook(new Thread(Program::inHook, "hook"));
                    System.exit(6);
                    break;
                case "run on":
                    Burn.millis(Integer.MAX_VALUE);
                    break;
                default:
                    break;
            }
        }

        private static void inHook() {
            Burn.millis(BURNT_MS);
        }
    }
}
