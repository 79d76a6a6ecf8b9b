/*
 * The JVM must report a program's own crash as it would without the agent: same signal, same frame,
 * same end. People send these reports to the authors of the crashed library or JVM.
 *
 * @test
 * @summary the JVM reports a real crash as without the agent
 * @library /lib
 * @build dev.vouch.test.*
 * @run main RealCrash
 */

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Vm;

public class RealCrash {
    private static String library;

    public static void main(String[] args) throws IOException {
        library = Native.library().toString();
        for (String how : new String[] {"native", "sent"}) {
            List<String> without = told(Vm.without(), how);
            Check.contains(without.toString(), "SIGSEGV", "what is told without the agent");
            // A signal from outside hits whatever the main thread is running. At 10 s the agent's
            // handler never runs, so it cannot be hit.
            String interval = how.equals("sent") ? "10s" : "1ms";
            Check.equal(without, told(Vm.with("interval=" + interval), how), "what is told of a crash: " + how);
        }
    }

    /**
     * The exit code and the first lines of the JVM's report, without what differs from run to run.
     */
    private static List<String> told(Vm vm, String how) throws IOException {
        List<String> told = new ArrayList<>();
        Run run;
        try (Running child = vm.launcher("sh", "-c", "ulimit -c 0; exec \"$@\"", "sh").start(Program.class, library, how)) {
            child.awaitOut("ready");
            if (how.equals("sent")) {
                child.signal("SEGV");
            } else {
                child.stdin().println();
            }
            run = child.waitForAnyEnd();
        }
        told.add("exit code " + run.exit);
        try (DirectoryStream<Path> reports = Files.newDirectoryStream(run.dir, "hs_err*.log")) {
            for (Path report : reports) {
                boolean frame = false;
                for (String line : Files.readAllLines(report, StandardCharsets.ISO_8859_1)) {
                    if (frame || line.startsWith("siginfo:") || line.matches("# +SIG.*")) {
                        told.add(line.replaceAll("(pid|tid|pc|si_pid|si_uid|by pid|0x)[=:]? ?(0x)?[0-9a-f]+", "$1"));
                    }
                    frame = line.startsWith("# Problematic frame:");
                }
            }
        }
        return told;
    }

    static class Program {
        public static void main(String[] args) throws Exception {
            System.load(args[0]);
            System.out.println("ready");
            if (args[1].equals("native")) {
                System.in.read();
                Native.crash();
            }
            // Sleeps on even if its input ends, since the signal is to hit a waiting thread.
            Thread.sleep(Long.MAX_VALUE);
        }
    }
}
