/*
 * Ten thousand threads run for 5 ms each, as in a server that starts a thread for each request. The
 * agent creates an event or a timer for each thread, and none may remain after the threads exit.
 * The threads' time must be in the profile, although each of them has only a few samples.
 *
 * @test id=perf
 * @summary perf: nothing leaks over many short threads, and their time is there
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=400 ShortThreads perf
 */
/*
 * @test id=timer
 * @summary timer: nothing leaks over many short threads, and their time is there
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=400 ShortThreads timer
 */
/*
 * @test id=poll
 * @summary poll: nothing leaks over many short threads, and their time is there with its stacks
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=400 ShortThreads poll
 */

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Memory;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Scale;
import dev.vouch.test.ShortLives;
import dev.vouch.test.Skip;
import dev.vouch.test.Vm;

public class ShortThreads {
    private static final int THREADS = Scale.pick(1_000, 10_000);
    private static final long THREAD_MS = 5;

    public static void main(String[] args) {
        // The JVM should start no threads meanwhile, since they have events and timers too.
        Run run = Vm.with("interval=1ms,engine=" + args[0]).collector("-XX:+UseSerialGC")
            .flags("-XX:+IgnoreUnrecognizedVMOptions", "-XX:-UseDynamicNumberOfCompilerThreads", "-Xmx256m")
            .timeout(Duration.ofSeconds(300)).run(Program.class, Integer.toString(THREADS));
        Skip.ifEngineRefused(run);
        run.ok();
        for (String thing : new String[] {"tasks", "descriptors", "events", "timers"}) {
            Check.equal(run.number(thing + ".before"), run.number(thing + ".after"), thing + " after all threads have ended");
        }
        if (args[0].equals("poll")) {
            Check.equal(0L, run.number("events.before") + run.number("timers.before"), "events and timers of pollers");
        } else {
            // The test is meaningful only if such events or timers existed while threads were
            // alive.
            Check.atLeast(2, run.number((args[0].equals("perf") ? "events" : "timers") + ".before"), "armed threads of the JVM");
        }
        double growth = (run.number("rss_kb.after") - run.number("rss_kb.before")) / 1024.0;
        Check.atMost(12 + 2.0 * THREADS / 1000, growth, "growth of the memory over " + THREADS + " threads, in MB");

        for (String note : run.report().engineNotes()) {
            Check.that(!note.contains("could not be sampled"), "a thread that ended is told as a failure: " + note);
        }

        String[] burnt = run.value("burnt_ns").split(",");
        double all = 0;
        long samples = 0;
        ShortLives lives = new ShortLives(run.report());
        for (Report.ThreadRow row : run.report().threads()) {
            if (row.name.startsWith("short-")) {
                double own = Long.parseLong(burnt[Integer.parseInt(row.name.substring("short-".length()))]) / 1e6;
                lives.add(row, own);
                all += own;
                samples += row.samples;
            }
        }
        Check.equal(THREADS, lives.count(), "short threads in the report");
        Check.atLeast(all, lives.cpuMs(), "CPU time of the short threads by the report and by themselves, in ms");
        // The start and end of a thread take time too, and how much depends on the machine. All
        // threads together must not have more CPU time than the process.
        double ofAll = run.report().threads().stream().mapToDouble(row -> row.cpuMs).sum();
        Check.atMost(run.report().cpuMs(), ofAll, "CPU time of all threads and of the process, in ms");
        lives.check("short threads");
        // Time without a sample must never appear as time outside of Java. Only a thread's start
        // and end are outside of Java.
        long outside = run.profile().tracks.stream().filter(track -> track.name.startsWith("short-"))
            .mapToLong(track -> track.weightOf("[outside Java]")).sum();
        Check.atMost(lives.cpuMs() - all + 0.05 * lives.cpuMs(), outside, "ms of the short threads outside of Java");
        if (args[0].equals("timer")) {
            long ended = run.report().unwalkedCodes().getOrDefault("thread_ended", 0L);
            Check.atLeast(0.1 * THREADS, ended, "the trigger: threads that ended before their next sample");
            Check.that(run.report().engineNotes().stream().anyMatch(note -> note.contains("(thread_ended)")), "a note says what has no stack");
        }
        if (args[0].equals("poll")) {
            double burning = run.profile().tracks.stream().filter(track -> track.name.startsWith("short-"))
                .mapToLong(track -> track.weightOf("dev.vouch.test.Burn.millis")).sum();
            Check.between(0.9 * all, burning, 1.1 * all, "ms of the short threads with the stack of what they did");
        }
        long inProfile = run.profile().tracks.stream().filter(track -> track.name.startsWith("short-"))
            .mapToLong(track -> track.samples.size()).sum();
        Check.equal(samples, inProfile, "samples of the short threads in the profile");
        Check.atMost(1000, run.profile().tracks.size(), "tracks of the profile");
    }

    static class Program {
        private static long[] burnt;
        private static final Semaphore ROOM = new Semaphore(8);

        public static void main(String[] args) throws Exception {
            burn("warm-", 100);
            // The first look loads what reading /proc needs, so the next ones do not count it.
            look("warm");
            int tasks = look("before");
            burn("short-", Integer.parseInt(args[0]));
            awaitTasks(tasks);
            look("after");
            System.out.println("burnt_ns=" + Arrays.stream(burnt).mapToObj(Long::toString).collect(Collectors.joining(",")));
        }

        private static void burn(String name, int count) throws InterruptedException {
            burnt = new long[count];
            Thread last = null;
            for (int i = 0; i < count; i++) {
                ROOM.acquire();
                int place = i;
                last = new Thread(() -> {
                    burnt[place] = Burn.millis(THREAD_MS);
                    ROOM.release();
                }, name + i);
                last.start();
            }
            ROOM.acquire(8);
            ROOM.release(8);
            last.join();
        }

        /** A kernel thread ends a little later than its Java thread. */
        private static void awaitTasks(int count) throws Exception {
            long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
            while (count("/proc/self/task") > count && System.nanoTime() < until) {
                Thread.yield();
            }
        }

        private static int look(String when) throws Exception {
            int tasks = count("/proc/self/task");
            System.out.println("tasks." + when + "=" + tasks);
            System.out.println("descriptors." + when + "=" + descriptors());
            System.out.println("events." + when + "=" + events());
            System.out.println("timers." + when + "=" + lines("/proc/self/timers", "ID:").count());
            System.out.println("rss_kb." + when + "=" + Memory.kib("VmRSS"));
            return tasks;
        }

        /**
         * Descriptors that stay open: the agent's thread opens a file of the kernel for a moment
         * now and then.
         */
        private static int descriptors() throws InterruptedException {
            int least = count("/proc/self/fd");
            for (int looks = 0; looks < 20; looks++) {
                Thread.sleep(5);
                least = Math.min(least, count("/proc/self/fd"));
            }
            return least;
        }

        private static int count(String folder) {
            return new java.io.File(folder).list().length;
        }

        private static long events() throws IOException {
            try (Stream<Path> files = Files.list(Paths.get("/proc/self/fd"))) {
                return files.filter(Program::isEvent).count();
            }
        }

        private static boolean isEvent(Path descriptor) {
            try {
                return Files.readSymbolicLink(descriptor).toString().contains("perf_event");
            } catch (IOException closedMeanwhile) {
                return false;
            }
        }

        private static Stream<String> lines(String file, String beginning) throws IOException {
            return Files.readAllLines(Paths.get(file), StandardCharsets.UTF_8).stream()
                .filter(line -> line.startsWith(beginning));
        }
    }
}
