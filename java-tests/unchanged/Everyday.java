/*
 * The agent must not disturb the program. Child processes, sockets, selectors, pipes, timers,
 * sleeps and locks use system calls that a signal can interrupt. A profiler that leaks one EINTR,
 * or a blocked signal into a child, costs its user a day. The interval is a fifth of the usual one,
 * or what the machine can afford. Under load the output must be the same as without the agent.
 *
 * @test
 * @summary children, sockets, selectors, sleeps and file locks under a storm of signals
 * @library /lib
 * @build dev.vouch.test.*
 * @run main Everyday
 */

import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.Pipe;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Scale;
import dev.vouch.test.Vm;

public class Everyday {
    public static void main(String[] args) {
        Run without = Vm.without().run(Program.class);
        Check.equal(42, without.exit, "exit code without the agent");
        Check.atLeast(14, without.out.size(), "lines of output, of " + without.out);
        // One engine sends the most signals, and one sends them to any thread.
        for (String engine : Scale.isFull() ? new String[] {"perf", "timer", "itimer"} : new String[] {"perf", "itimer"}) {
            Run with = Vm.with("interval=200us,engine=" + engine).run(Program.class);
            Check.equal(String.join("\n", without.out), String.join("\n", with.out), "stdout with engine=" + engine);
            Check.equal(without.otherErr(), with.otherErr(), "stderr with engine=" + engine + ", but for Vouch's own lines");
            Check.equal(without.exit, with.exit, "exit code with engine=" + engine);
            Check.atLeast(100, with.report().signals(), "signals, which this is about");
        }
    }

    static class Program {
        private static final int ROUNDS = Scale.pick(25, 400);
        private static volatile boolean done;

        public static void main(String[] args) throws Exception {
            List<Thread> load = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
                Thread thread = new Thread(Program::burnUntilDone, "load");
                // A daemon, so that it does not keep a failed program alive.
                thread.setDaemon(true);
                load.add(thread);
                thread.start();
            }
            children();
            signalsOfChildren();
            pipeToChild();
            sockets();
            selector();
            sleeps();
            timers();
            fileLocks();
            failures();
            done = true;
            for (Thread thread : load) {
                thread.join();
            }
            System.err.println("the program's own last words");
            System.exit(42);
        }

        private static void burnUntilDone() {
            while (!done) {
                Burn.millis(1);
            }
        }

        private static void children() throws Exception {
            int sum = 0;
            for (int i = 0; i < 8; i++) {
                Process child = new ProcessBuilder("/bin/sh", "-c", "echo child " + i + "; exit " + i).redirectErrorStream(true).start();
                System.out.println(text(child.getInputStream()));
                sum += child.waitFor();
            }
            Process sleep = new ProcessBuilder("/bin/sleep", "0.2").start();
            System.out.println("children " + sum + ", sleep " + sleep.waitFor());
        }

        /**
         * Checks what a child inherits: blocked and ignored signals, and timers that would kill it.
         */
        private static void signalsOfChildren() throws Exception {
            String script = "grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status; "
                + "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo counted $i; kill -PROF $$";
            Process child = new ProcessBuilder("/bin/bash", "-c", script).redirectErrorStream(true).start();
            System.out.println(text(child.getInputStream()) + " and ended by " + child.waitFor());
        }

        private static void pipeToChild() throws Exception {
            Process cat = new ProcessBuilder("/bin/cat").start();
            Thread writer = new Thread(() -> {
                try (OutputStream out = cat.getOutputStream()) {
                    for (int i = 0; i < ROUNDS * 100; i++) {
                        out.write(("line " + i + "\n").getBytes("US-ASCII"));
                        out.flush();
                    }
                } catch (Exception error) {
                    throw new IllegalStateException(error);
                }
            });
            writer.start();
            int hash = text(cat.getInputStream()).hashCode();
            writer.join();
            System.out.println("cat " + hash + ", " + cat.waitFor());
        }

        private static void sockets() throws Exception {
            try (ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
                Thread echo = new Thread(() -> {
                    try {
                        for (int i = 0; i < ROUNDS; i++) {
                            try (Socket socket = server.accept()) {
                                int value = socket.getInputStream().read();
                                LockSupport.parkNanos(300_000);
                                socket.getOutputStream().write(value + 1);
                            }
                        }
                    } catch (Exception error) {
                        throw new IllegalStateException(error);
                    }
                });
                echo.start();
                int sum = 0;
                for (int i = 0; i < ROUNDS; i++) {
                    try (Socket socket = new Socket()) {
                        socket.connect(new InetSocketAddress(server.getInetAddress(), server.getLocalPort()), 5_000);
                        socket.setSoTimeout(10_000);
                        socket.getOutputStream().write(i % 100);
                        Burn.work(50_000);
                        sum += socket.getInputStream().read();
                    }
                }
                echo.join();
                System.out.println("sockets " + sum);
            }
        }

        private static void selector() throws Exception {
            Pipe pipe = Pipe.open();
            int ready = 0;
            int timedOut = 0;
            try (Selector selector = Selector.open()) {
                pipe.source().configureBlocking(false);
                pipe.source().register(selector, SelectionKey.OP_READ);
                ByteBuffer one = ByteBuffer.allocate(1);
                for (int i = 0; i < ROUNDS; i++) {
                    // There is nothing to read: the call must wait its full time, and not return
                    // early without data.
                    long from = System.nanoTime();
                    if (selector.select(2) == 0 && System.nanoTime() - from >= 1_900_000) {
                        timedOut++;
                    }
                    one.clear();
                    pipe.sink().write(one);
                    ready += selector.select();
                    one.clear();
                    pipe.source().read(one);
                    selector.selectedKeys().clear();
                }
            }
            System.out.println("selected " + ready + ", timed out " + timedOut);
        }

        private static void sleeps() throws Exception {
            int whole = 0;
            for (int i = 0; i < ROUNDS; i++) {
                long from = System.nanoTime();
                Thread.sleep(2);
                whole += System.nanoTime() - from >= 1_900_000 ? 1 : 0;
                Burn.work(100_000);
            }
            Object lock = new Object();
            synchronized (lock) {
                lock.wait(5);
            }
            System.out.println("slept " + whole);
        }

        private static void timers() throws Exception {
            ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
            CountDownLatch ticks = new CountDownLatch(ROUNDS);
            timer.scheduleAtFixedRate(ticks::countDown, 0, 1, TimeUnit.MILLISECONDS);
            System.out.println("ticked " + ticks.await(30, TimeUnit.SECONDS));
            timer.shutdownNow();
        }

        private static void fileLocks() throws Exception {
            Path file = Paths.get("locked");
            int locked = 0;
            for (int i = 0; i < ROUNDS; i++) {
                try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                        FileLock lock = channel.lock()) {
                    channel.write(ByteBuffer.wrap(new byte[] {(byte) i}));
                    channel.force(false);
                    locked += lock.isValid() ? 1 : 0;
                }
            }
            System.out.println("locked " + locked);
        }

        /**
         * Calls that fail: the handler must not change their errno between the kernel and Java.
         */
        private static void failures() throws Exception {
            Path missing = Paths.get("missing");
            int right = 0;
            for (int i = 0; i < ROUNDS * 1_500; i++) {
                try {
                    Files.size(missing);
                } catch (NoSuchFileException expected) {
                    right++;
                }
            }
            System.out.println("failed " + right);
        }

        private static String text(InputStream stream) throws Exception {
            StringBuilder text = new StringBuilder();
            try (BufferedReader in = new BufferedReader(new InputStreamReader(stream))) {
                for (String line = in.readLine(); line != null; line = in.readLine()) {
                    text.append(text.length() == 0 ? "" : " | ").append(line);
                }
            }
            return text.toString();
        }
    }
}
