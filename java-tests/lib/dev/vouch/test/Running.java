package dev.vouch.test;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/** A running child JVM. It never outlives its timeout. */
public final class Running implements AutoCloseable {
    /** The time in which a hanging child can report where it hangs. */
    private static final Duration LAST_WORDS = Duration.ofSeconds(5);

    /** The child's working folder. */
    public final Path dir;

    private final Process process;
    private final long deadline;
    private final PrintWriter stdin;
    private final Lines out;
    private final Lines err;

    /** The agent's library in this JVM, if it is not the released one. */
    Path agent;

    Running(Process process, Path dir, Duration timeout) {
        this.process = process;
        this.dir = dir;
        deadline = System.nanoTime() + timeout.toNanos();
        stdin = new PrintWriter(new OutputStreamWriter(process.getOutputStream(), StandardCharsets.UTF_8), true);
        out = new Lines(process.getInputStream(), "stdout");
        err = new Lines(process.getErrorStream(), "stderr");
    }

    public long pid() {
        return pid(process);
    }

    /** The kernel's id of this process. */
    public static String ownPid() throws IOException {
        return Paths.get("/proc/self").toRealPath().getFileName().toString();
    }

    /** The kernel's id of a process. */
    public static long pid(Process process) {
        try {
            try {
                return (Long) Process.class.getMethod("pid").invoke(process);
            } catch (NoSuchMethodException beforeJdk9) {
                Field pid = process.getClass().getDeclaredField("pid");
                pid.setAccessible(true);
                return pid.getInt(process);
            }
        } catch (ReflectiveOperationException error) {
            throw new AssertionError("the child's pid is not to be had", error);
        }
    }

    /** The child's standard input; each println is flushed. */
    public PrintWriter stdin() {
        return stdin;
    }

    /** Waits for a line of the child's stdout with this beginning, and returns it. */
    public String awaitOut(String beginning) {
        return out.await(beginning);
    }

    /** Waits for a line of the child's stderr with this beginning, and returns it. */
    public String awaitErr(String beginning) {
        return err.await(beginning);
    }

    /** Runs the JDK's jcmd on the child. The result has its exit code and its output. */
    public Run jcmd(String... arguments) {
        List<String> command = new ArrayList<>();
        command.add(Vm.jdk().resolve("bin/jcmd").toString());
        command.add(Long.toString(pid()));
        command.addAll(Arrays.asList(arguments));
        return tool(command);
    }

    /** Sends a signal by its name: TERM, INT, KILL… */
    public void signal(String name) {
        Run kill = tool(Arrays.asList("kill", "-" + name, Long.toString(pid())));
        Check.equal(0, kill.exit, "exit code of kill -" + name);
    }

    /** Runs another program in the child's folder. It must end well. */
    public void tool(String... command) {
        Run run = tool(Arrays.asList(command));
        Check.equal(0, run.exit, "exit code of " + command[0] + ": " + run.err);
    }

    private Run tool(List<String> command) {
        return tool(command, Duration.ofSeconds(60));
    }

    private Run tool(List<String> command, Duration most) {
        System.out.println("+ " + String.join(" ", command));
        try {
            Process tool = new ProcessBuilder(command).directory(dir.toFile()).start();
            Run run = new Running(tool, dir, most).end(false);
            Check.that(!run.timedOut, command + " did not end in time; it was killed: " + run.out + run.err);
            return run;
        } catch (IOException error) {
            throw new AssertionError(command.get(0) + " could not be started", error);
        }
    }

    public boolean isAlive() {
        return process.isAlive();
    }

    /** Waits for the end. A crash of the JVM fails the test here. */
    public Run waitFor() {
        return end(true);
    }

    /** Waits for any end. The caller checks a crash, or a kill after the timeout. */
    public Run waitForAnyEnd() {
        return end(false);
    }

    private Run end(boolean checked) {
        try {
            stdin.close();
            boolean timedOut = !process.waitFor(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
            if (timedOut) {
                if (checked) {
                    lastWords();
                }
                process.destroyForcibly().waitFor();
            }
            Run run = new Run(process.exitValue(), out.all(), err.all(), dir, timedOut);
            if (checked) {
                Check.that(!timedOut, "the child did not end in time; it was killed.\nstdout: " + String.join("\n", run.out)
                    + "\nstderr: " + String.join("\n", run.err));
                run.check();
            }
            return run;
        } catch (InterruptedException error) {
            process.destroyForcibly();
            throw new AssertionError("interrupted while the child ran", error);
        }
    }

    /**
     * Collects where a child hangs: what its threads wait for in the kernel, the JVM's thread dump,
     * and the agent's status.
     */
    private void lastWords() {
        Path tasks = Paths.get("/proc", Long.toString(pid()), "task");
        try (DirectoryStream<Path> threads = Files.newDirectoryStream(tasks)) {
            for (Path thread : threads) {
                System.out.println("thread " + thread.getFileName() + ": " + word(thread, "comm") + ", in " + word(thread, "wchan")
                    + ", system call " + word(thread, "syscall"));
            }
        } catch (IOException | DirectoryIteratorException ended) {
            System.out.println("its threads cannot be listed: " + ended);
        }
        if (!word(tasks, "../comm").equals("java")) {
            // With a launcher the JVM is another process, and the signal would end the launcher.
            return;
        }
        try {
            // The JVM prints on its stdout if it can still reach a safepoint. The agent is asked
            // last, because the request goes through the JVM, which may not answer.
            signal("QUIT");
            Thread.sleep(LAST_WORDS.toMillis());
            Run status = tool(Arrays.asList(Vm.jdk().resolve("bin/jcmd").toString(), Long.toString(pid()), "JVMTI.agent_load",
                (agent == null ? Vm.agent() : agent).toString(), "status"), LAST_WORDS);
            System.out.println("asked for the agent's status: " + status.out + status.err);
            Thread.sleep(LAST_WORDS.toMillis() / 10);
        } catch (AssertionError | InterruptedException none) {
            System.out.println("it said no more: " + none);
        }
    }

    private static String word(Path thread, String file) {
        try {
            return new String(Files.readAllBytes(thread.resolve(file)), StandardCharsets.UTF_8).trim();
        } catch (IOException none) {
            return "?";
        }
    }

    /** Kills the child if it still runs. */
    @Override
    public void close() {
        process.destroyForcibly();
    }

    /** An output stream of the child, read line by line. */
    private final class Lines {
        private final List<String> lines = new ArrayList<>();
        private final String name;
        private final Thread reader;
        private final Set<Integer> awaited = new HashSet<>();
        private boolean ended;

        Lines(InputStream stream, String name) {
            this.name = name;
            reader = new Thread(() -> read(stream), "child " + name);
            reader.setDaemon(true);
            reader.start();
        }

        private void read(InputStream stream) {
            try (BufferedReader in = new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8))) {
                for (String line = in.readLine(); line != null; line = in.readLine()) {
                    add(line);
                }
            } catch (IOException closed) {
                // The child was killed; the output so far counts.
            } finally {
                end();
            }
        }

        private synchronized void add(String line) {
            lines.add(line);
            notifyAll();
        }

        private synchronized void end() {
            ended = true;
            notifyAll();
        }

        String await(String beginning) {
            String line = find(beginning);
            if (line == null) {
                if (isAlive()) {
                    lastWords();
                }
                Check.fail("no line \"" + beginning + "…\" came on " + name + ":\n" + String.join("\n", seen()));
            }
            return line;
        }

        /**
         * Waits for a line with this beginning, and returns each line only once; null if the stream
         * ended or time is over.
         */
        private synchronized String find(String beginning) {
            int seen = 0;
            while (true) {
                for (; seen < lines.size(); seen++) {
                    if (lines.get(seen).startsWith(beginning) && awaited.add(seen)) {
                        return lines.get(seen);
                    }
                }
                long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
                if (ended || left <= 0) {
                    return null;
                }
                pause(left);
            }
        }

        private synchronized List<String> seen() {
            return new ArrayList<>(lines);
        }

        private void pause(long millis) {
            try {
                wait(millis);
            } catch (InterruptedException error) {
                throw new AssertionError("interrupted while waiting for the child", error);
            }
        }

        /**
         * All lines after the end of the stream. A grandchild may keep the stream open, so the wait
         * is short.
         */
        synchronized List<String> all() {
            long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
            while (!ended && System.nanoTime() < until) {
                pause(100);
            }
            return new ArrayList<>(lines);
        }
    }
}
