/*
 * Vouch must not depend on a reader of its messages. A full pipe on stderr must not delay the
 * program, its exit, or a command to the JVM. A process may also start without standard streams, so
 * its next files get their descriptors. Those files must contain no messages.
 *
 * @test
 * @summary a stderr that is full or closed harms neither the program nor a file
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=200 StandardStreams
 */

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.time.Duration;

import dev.vouch.test.Attach;
import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Tool;
import dev.vouch.test.Vm;

public class StandardStreams {
    /** Makes a full pipe on stderr: the process itself is its only reader, and it never reads. */
    private static final String FULL = "mkfifo full && exec 9<>full && { dd if=/dev/zero of=full bs=4096 oflag=nonblock 2>/dev/null || echo full; } "
        + "&& exec \"$@\" 2>&9 9>&-";
    private static final String CLOSED = "exec \"$@\" 0<&- 1>&- 2>&-";
    private static final String LINE = "the program's own data";
    private static final int LINES = 100;

    public static void main(String[] args) throws Exception {
        fullAtTheEnd();
        fullInMidRun();
        closed("recording=keep,duration=300ms");
        closed("recording=keep");
    }

    private static void fullAtTheEnd() {
        Run run = full("interval=1ms").run(Program.class, "300").ok();
        Check.equal("full", run.out.get(0), "what dd found of the pipe");
        Check.atLeast(100, run.report().walked(), "samples of a program whose stderr is full");
    }

    private static void fullInMidRun() throws Exception {
        try (Running running = full("interval=1ms,duration=200ms").start(Program.class, "0")) {
            running.awaitOut("begun");
            try (Attach attach = Attach.to(running)) {
                // Refused until the first recording is over.
                for (int tries = 0; attach.load("start,out=second.json,interval=1ms") != 0; tries++) {
                    Check.that(tries < 200, "the first recording of 200 ms never ends");
                    Thread.sleep(50);
                }
                attach.must("status");
                attach.must("dump");
                attach.must("stop");
            }
            Check.that(Files.exists(running.dir.resolve("second.json")), "the file of a recording that was stopped");
            running.stdin().println();
            running.waitFor().ok();
        }
    }

    private static Vm full(String options) {
        return Vm.with(options).launcher("sh", "-c", FULL, "sh").timeout(Duration.ofSeconds(40));
    }

    private static void closed(String options) throws Exception {
        Run run = Vm.with(options).launcher("sh", "-c", CLOSED, "sh").timeout(Duration.ofSeconds(40)).run(Program.class, "600").ok();
        Path data = run.dir.resolve("data");
        StringBuilder expected = new StringBuilder();
        for (int line = 0; line < LINES; line++) {
            expected.append(LINE).append('\n');
        }
        Check.equal(expected.toString(), new String(Files.readAllBytes(data), StandardCharsets.UTF_8), "the program's data");
        Check.atLeast(1, run.report().walked(), "samples of a program without standard streams");
        String recording = run.files().stream().filter(name -> name.endsWith(".vouch")).findFirst().orElse("no recording");
        Tool.vouch(run.dir, "recover", "--out", "recovered.json", recording).ok();
    }

    static class Program {
        public static void main(String[] args) throws IOException, InterruptedException {
            System.out.println("begun");
            long millis = Long.parseLong(args[0]);
            if (millis == 0) {
                new Thread(Program::burnOn, "burns").start();
                System.in.read();
                burns = false;
                return;
            }
            // This file gets the lowest free descriptor, which is that of a standard stream.
            try (OutputStream data = new FileOutputStream(Paths.get("data").toFile())) {
                for (int line = 0; line < LINES; line++) {
                    data.write((LINE + "\n").getBytes(StandardCharsets.UTF_8));
                    Burn.sink += Burn.millis(millis / LINES);
                }
            }
        }

        private static volatile boolean burns = true;

        private static void burnOn() {
            while (burns) {
                Burn.sink += Burn.work(1_000);
            }
        }
    }
}
