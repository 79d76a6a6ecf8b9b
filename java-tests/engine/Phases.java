/*
 * One thread parks, uses a socket, starts threads, and computes, in turn. It spends most of each
 * turn in the kernel, and wakes there. An engine that signals at kernel ticks attributes such a
 * thread's time to the wrong methods.
 *
 * @test id=perf
 * @summary perf: each activity of a thread has the time that the thread's own clock measures
 * @key newest lts
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=200 Phases perf
 */
/*
 * @test id=poll
 * @summary poll: the summary says where shares are biased
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=200 Phases poll
 */

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Skip;
import dev.vouch.test.Track;
import dev.vouch.test.Vm;

public class Phases {
    private static final String[] PHASES = {"parks", "talks", "starts", "works"};

    public static void main(String[] args) {
        Run run = Vm.with("interval=1ms,engine=" + args[0]).flags("-Xmx128m").run(Program.class);
        Skip.ifEngineRefused(run);
        run.ok();
        Check.equal(args[0], run.report().engine(), "engine");
        boolean isKernelSeen = run.report().engineNotes().stream().noneMatch(note -> note.contains("time inside the kernel is not sampled"));
        Skip.unless(isKernelSeen, "perf does not see the kernel here");
        Track main = run.profile().track("main");
        double thread = Stream.of(PHASES).mapToLong(phase -> run.number(phase + "_ns")).sum() / 1e6;
        boolean isBiasSaid = run.vouchLines().stream().anyMatch(line -> line.contains("threads that wait this often are biased"));
        Check.equal(args[0].equals("poll"), isBiasSaid, "the summary says that " + args[0] + " is biased");
        for (String phase : PHASES) {
            double own = run.number(phase + "_ns") / 1e6;
            double shown = main.weightOf("Phases$Program." + phase);
            System.out.printf("%s %s: %.0f of %.0f ms, thread %.0f ms%n", args[0], phase, shown, own, thread);
            if (!isBiasSaid) {
                Check.near(own, shown, 0.05 * own + 0.02 * thread, "ms of " + phase);
            }
        }
    }

    static class Program {
        private static final int TURNS = 30;
        private static final long TURN_NS = 15_000_000;

        public static void main(String[] args) throws IOException, InterruptedException {
            long[] took = new long[PHASES.length];
            try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Socket socket = new Socket(server.getInetAddress(), server.getLocalPort());
                Socket other = server.accept()) {
                socket.setTcpNoDelay(true);
                other.setTcpNoDelay(true);
                Thread echo = new Thread(() -> echo(other), "echo");
                echo.setDaemon(true);
                echo.start();
                for (int turn = 0; turn < TURNS; turn++) {
                    for (int phase = 0; phase < PHASES.length; phase++) {
                        long from = Burn.cpuNanos();
                        once(phase, from + TURN_NS, socket);
                        took[phase] += Burn.cpuNanos() - from;
                    }
                }
            }
            for (int phase = 0; phase < PHASES.length; phase++) {
                System.out.println(PHASES[phase] + "_ns=" + took[phase]);
            }
        }

        private static void once(int phase, long until, Socket socket) throws IOException, InterruptedException {
            switch (phase) {
                case 0: parks(until); break;
                case 1: talks(until, socket.getInputStream(), socket.getOutputStream()); break;
                case 2: starts(until); break;
                default: works(until); break;
            }
        }

        private static void parks(long until) {
            while (Burn.cpuNanos() < until) {
                LockSupport.parkNanos(20_000);
            }
        }

        private static void talks(long until, InputStream in, OutputStream out) throws IOException {
            while (Burn.cpuNanos() < until) {
                out.write(1);
                Check.equal(1, in.read(), "the answer");
            }
        }

        private static void starts(long until) throws InterruptedException {
            while (Burn.cpuNanos() < until) {
                Thread thread = new Thread(() -> {});
                thread.start();
                thread.join();
            }
        }

        private static void works(long until) {
            while (Burn.cpuNanos() < until) {
                Burn.sink += Burn.work(500);
            }
        }

        private static void echo(Socket socket) {
            try {
                InputStream in = socket.getInputStream();
                for (int next = in.read(); next >= 0; next = in.read()) {
                    socket.getOutputStream().write(next);
                }
            } catch (IOException ended) {
                // The program has ended, and so has this connection.
            }
        }
    }
}
