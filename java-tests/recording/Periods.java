/*
 * With every=, a service that runs for months has a file for each period. No sample may be lost or
 * counted twice between two of them, each file must be complete, and old files may not fill the
 * disk. A period that cannot be written must not cost the program or the next period.
 *
 * @test
 * @summary the files of every= add up to the run, and only the newest stay
 * @key newest lts
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=600 Periods
 */

import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import com.sun.management.OperatingSystemMXBean;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Profile;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Scale;
import dev.vouch.test.Tool;
import dev.vouch.test.Track;
import dev.vouch.test.Vm;

public class Periods {
    private static final int PERIODS = Scale.pick(7, 60);
    private static final Pattern LOST = Pattern.compile("([0-9]+) periods? before this one could not be written, with ");
    private static final String[] WORKERS = {"worker-a", "worker-b"};
    /** An argument of the program: its threads sleep for most of the time. */
    private static final String SLEEPY = "sleepy";

    public static void main(String[] args) throws Exception {
        addUp();
        // These programs mostly sleep, so they can run side by side.
        sideBySide(() -> onlyTheNewestStay("maxsize=64KB"), () -> onlyTheNewestStay("maxage=1s"), Periods::folderGone, Periods::liveObjects, Periods::killed);
        mistakes();
    }

    private interface Part {
        void run() throws Exception;
    }

    private static void sideBySide(Part... parts) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(parts.length);
        List<Future<?>> running = new ArrayList<>();
        for (Part part : parts) {
            running.add(threads.submit(() -> {
                part.run();
                return null;
            }));
        }
        threads.shutdown();
        for (Future<?> part : running) {
            part.get();
        }
    }

    private static void addUp() throws Exception {
        Path dir = Files.createDirectory(Paths.get("whole").toAbsolutePath());
        Run run = vm(dir, "every=1s").run(Program.class, Integer.toString(PERIODS * 1000)).ok();
        List<Path> profiles = files(dir, "p-");
        List<Path> reports = files(dir, "r-");
        Check.between(PERIODS, profiles.size(), PERIODS + 4, "files");
        Check.equal(profiles.size(), reports.size(), "reports");
        Check.equal(2 * profiles.size(), Run.files(dir).size(), "all files: no recording is left");
        double[] cpuMs = new double[WORKERS.length];
        double[] sampledMs = new double[WORKERS.length];
        double processMs = 0;
        long samples = 0;
        double end = Double.NaN;
        for (int period = 0; period < profiles.size(); period++) {
            // Reading it checks that its fates add up to the signals of the period.
            Report report = Report.read(reports.get(period));
            Profile profile = Profile.read(profiles.get(period));
            Check.equal(report.signals() - report.samples("dropped"), profile.samples().size(), "samples of period " + period);
            Check.equal(0, report.samples("dropped"), "samples that period " + period + " dropped");
            samples += profile.samples().size();
            processMs += report.cpuMs();
            double begin = profile.meta.get("profilingStartTime").getAsDouble();
            Check.that(period == 0 || begin == end, "period " + period + " begins at " + begin + ", and the one before ended at " + end);
            end = profile.meta.get("profilingEndTime").getAsDouble();
            boolean isWhole = period > 0 && end - begin > 900 && period < PERIODS - 1;
            for (int worker = 0; worker < WORKERS.length; worker++) {
                if (isWhole) {
                    report.checkConserved(WORKERS[worker]);
                    Track track = profile.track(WORKERS[worker]);
                    Check.atLeast(0.9 * track.weight(), track.weightOf("Periods$Program.work"), "time in a named method in period " + period);
                }
                for (Report.ThreadRow row : report.threads()) {
                    if (row.name.equals(WORKERS[worker])) {
                        cpuMs[worker] += row.cpuMs;
                        sampledMs[worker] += row.sampledMs;
                    }
                }
            }
            if (isWhole) {
                checkNames(period, profile.names());
            }
        }
        for (int worker = 0; worker < WORKERS.length; worker++) {
            double own = run.number(WORKERS[worker]) / 1e6;
            // The kernel's clock is read at other moments at the thread's end.
            Check.near(own, cpuMs[worker], 5, "CPU time of all periods of " + WORKERS[worker]);
            Check.near(own, sampledMs[worker], 0.02 * own + PERIODS, "sampled time of all periods of " + WORKERS[worker]);
        }
        Check.near(run.number("process") / 1e6, processMs, 0.02 * processMs + 150, "CPU time of the process in all periods");
        Check.contains(run.vouchLines().get(0), "every=1s: wrote " + profiles.get(0), "the first message");
        // The first period and the last are reported, and no other.
        Check.equal(2, run.vouchLines().stream().filter(line -> line.contains("wrote ")).count(), "messages on files");

        List<String> merge = new ArrayList<>(Arrays.asList("merge", "--out", "all.json"));
        profiles.forEach(file -> merge.add(file.toString()));
        String said = Tool.vouch(run.dir, merge).ok();
        Check.contains(said, profiles.size() + " files, 1 process", "what merge says");
        Check.that(!said.contains("no overlap"), "there is a gap: " + said);
        Check.equal(samples, Profile.read(run.dir.resolve("all.json")).samples().size(), "samples of the merged profile");
    }

    /** Between 2 s and 5 s of a run one thread ends, and another takes another name. */
    private static void checkNames(int period, Set<String> names) {
        if (period < 2 || period > 4) {
            String what = " in period " + period + ": " + names;
            Check.equal(period < 2, names.contains("brief"), "a thread that ends" + what);
            Check.equal(period < 2, names.contains("original"), "a thread by its first name" + what);
            Check.equal(period > 4, names.contains("renamed"), "a thread by its second name" + what);
        }
    }

    private static void onlyTheNewestStay(String limit) throws Exception {
        Path dir = Files.createDirectory(Paths.get(limit).toAbsolutePath());
        Path other = dir.resolve("p-20200101-000000.json");
        Files.write(other, "another's".getBytes(StandardCharsets.UTF_8));
        vm(dir, "every=1s," + limit).run(Program.class, "4000", SLEEPY).ok();
        Check.that(Files.exists(other), "a file of another process was removed");
        Files.delete(other);
        List<Path> profiles = files(dir, "p-");
        long bytes = 0;
        double end = Double.NaN;
        for (Path file : profiles) {
            bytes += Files.size(file) + Files.size(dir.resolve(file.getFileName().toString().replace("p-", "r-")));
            Profile profile = Profile.read(file);
            double begin = profile.meta.get("profilingStartTime").getAsDouble();
            Check.that(Double.isNaN(end) || begin == end, "a file before " + file + " is missing");
            end = profile.meta.get("profilingEndTime").getAsDouble();
        }
        Check.between(1, profiles.size(), 4, "files that stay with " + limit);
        Check.that(profiles.size() == 1 || limit.startsWith("maxage") || bytes <= 64 << 10, bytes + " bytes stay with " + limit);
        Check.equal(2 * profiles.size(), Run.files(dir).size(), "files that stay with " + limit);
    }

    /** For some periods the folder cannot be written. */
    private static void folderGone() throws Exception {
        Path dir = Files.createDirectory(Paths.get("gone").toAbsolutePath());
        Path away = dir.resolveSibling("away");
        try (Running child = vm(dir, "every=1s").start(Program.class, "7000", SLEEPY)) {
            child.awaitErr("[vouch] every=1s: wrote ");
            Files.move(dir, away);
            child.awaitErr("[vouch] the program and its recording go on");
            Thread.sleep(1_500);
            Files.move(away, dir);
            child.awaitErr("[vouch] files of periods are written again; lost: ");
            Run run = child.waitFor().ok();
            String said = String.join("\n", run.vouchLines());
            Check.equal(2, said.split("p-[-0-9]*.json could not be written").length, "messages on a period that was not written: " + said);
            long lost = 0;
            for (Path report : files(dir, "r-")) {
                for (String note : Report.read(report).engineNotes()) {
                    Matcher loss = LOST.matcher(note);
                    if (loss.find()) {
                        lost += Long.parseLong(loss.group(1));
                    }
                }
            }
            Matcher inAll = Pattern.compile("written again; lost: ([0-9]+) period").matcher(said);
            Check.that(inAll.find(), "the loss in all: " + said);
            Check.equal(Long.parseLong(inAll.group(1)), lost, "lost periods in all reports");
        }
    }

    /** Each period has the sampled objects that were allocated in it and are alive at its end. */
    private static void liveObjects() throws Exception {
        if (Vm.major() < 11) {
            return; // This JDK does not report allocations.
        }
        Path dir = Files.createDirectory(Paths.get("live").toAbsolutePath());
        vm(dir, "every=1s,events=alloc").run(Keeper.class, "5000").ok();
        List<Path> reports = files(dir, "r-");
        long alive = 0;
        for (Path report : reports.subList(1, reports.size() - 1)) {
            alive += Report.read(report).json.getAsJsonObject("live_objects").get("alive").getAsLong();
        }
        Check.between(50, alive, Keeper.MOST, "objects that are alive in all periods but the first and the last");
    }

    private static void killed() throws Exception {
        Path dir = Files.createDirectory(Paths.get("killed").toAbsolutePath());
        try (Running child = vm(dir, "every=2s").start(Program.class, "60000", SLEEPY)) {
            child.awaitErr("[vouch] every=2s: wrote ");
            Thread.sleep(1_300);
            child.signal("KILL");
            child.waitForAnyEnd();
        }
        List<Path> recordings = new ArrayList<>(files(dir, "p-"));
        recordings.removeIf(file -> !file.toString().endsWith(".vouch"));
        Check.equal(1, recordings.size(), "recordings of a JVM that was killed: " + Run.files(dir));
        Tool.vouch(dir, "recover", recordings.get(0).toString(), "--out", "last.json").ok();
        Profile last = Profile.read(dir.resolve("last.json"));
        Check.atLeast(20, last.track(WORKERS[0]).weight(), "time of the last period");
        Profile before = Profile.read(files(dir, "p-").get(0));
        Check.equal(before.meta.get("profilingEndTime"), last.meta.get("profilingStartTime"), "begin of the last period");
    }

    private static void mistakes() {
        refused("every=1s,out=p.json", "every=1s: each period would replace p.json: put %t into its name, as in app-%t.json.gz");
        refused("every=1s,out=p-%t.json,report=r.json", "each period would replace r.json");
        refused("maxage=1h", "maxage= has no effect without every=: add every=60s");
        refused("every=10ms", "every=10ms: must be between 1s and 30d");
        refused("every=1s,recording=keep", "recording=keep would keep a recording of each period");
        refused("every=1s,jfr=a.jfr", "jfr= is for one file of the whole run, not for every=");
    }

    private static void refused(String options, String message) {
        Run run = Vm.with(options).noFiles().run(Program.class, "0");
        Check.equal(1, run.exit, "exit code with " + options);
        Check.that(run.out.stream().noneMatch(line -> line.startsWith("process=")), "the program has run");
        Check.contains(String.join("\n", run.vouchLines()), message, "message");
    }

    private static Vm vm(Path dir, String options) {
        return Vm.with(options + ",out=" + dir + "/p-%t.json,report=" + dir + "/r-%t.json,interval=1ms").noFiles();
    }

    /** The files with names that begin like this, in the order of their names. */
    private static List<Path> files(Path dir, String begin) {
        List<Path> files = new ArrayList<>();
        for (String name : Run.files(dir)) {
            if (name.startsWith(begin)) {
                files.add(dir.resolve(name));
            }
        }
        return files;
    }

    /** Keeps an array of 1 MiB each 20 ms, with collections. */
    static class Keeper {
        static final int MOST = 250;
        static final List<byte[]> KEEPS = new ArrayList<>();

        public static void main(String[] args) throws Exception {
            long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000;
            while (System.nanoTime() < end && KEEPS.size() < MOST) {
                KEEPS.add(new byte[1 << 20]);
                if (KEEPS.size() % 10 == 0) {
                    System.gc();
                }
                Thread.sleep(20);
            }
        }
    }

    static class Program {
        static boolean sleepy;

        public static void main(String[] args) throws Exception {
            sleepy = args.length > 1 && args[1].equals(SLEEPY);
            long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000;
            List<Thread> threads = new ArrayList<>();
            AtomicLongArray used = new AtomicLongArray(WORKERS.length);
            for (int worker = 0; worker < WORKERS.length; worker++) {
                int own = worker;
                threads.add(new Thread(() -> used.set(own, work(end)), WORKERS[worker]));
            }
            threads.add(new Thread(() -> work(Math.min(end, System.nanoTime() + 2_500_000_000L)), "brief"));
            threads.add(new Thread(() -> {
                work(Math.min(end, System.nanoTime() + 3_200_000_000L));
                Thread.currentThread().setName("renamed");
                work(end);
            }, "original"));
            threads.forEach(Thread::start);
            for (Thread thread : threads) {
                thread.join();
            }
            for (int worker = 0; worker < WORKERS.length; worker++) {
                System.out.println(WORKERS[worker] + "=" + used.get(worker));
            }
            System.out.println("process=" + processNanos());
        }

        /** Works, with pauses, until this time. Returns the CPU time of the calling thread. */
        private static long work(long end) {
            while (System.nanoTime() < end) {
                Burn.sink += Burn.work(100_000);
                if (sleepy) {
                    LockSupport.parkNanos(5_000_000);
                } else {
                    Thread.yield();
                }
            }
            return Burn.cpuNanos();
        }

        private static long processNanos() {
            return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
        }
    }
}
