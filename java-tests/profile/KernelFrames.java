/*
 * With `kernel=on` a stack must show what the kernel does for the program: a system call above the
 * native code that made it, and a page fault above the Java code that touched the page.
 *
 * @test
 * @summary kernel=on: the kernel's functions have the time that the kernel charged them
 * @key newest lts
 * @library /lib
 * @build dev.vouch.test.*
 * @run main KernelFrames
 */

import java.io.FileInputStream;
import java.io.IOException;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.function.Predicate;

import com.google.gson.JsonObject;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.FixedWork;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.Scale;
import dev.vouch.test.Skip;
import dev.vouch.test.Track;
import dev.vouch.test.Vm;

public class KernelFrames {
    private static final String READ = "java.io.FileInputStream.readBytes";

    public static void main(String[] args) {
        Run run = Vm.with("interval=1ms,native=on,kernel=on").flags("-Xmx64m").run(Program.class);
        Skip.ifEngineRefused(run);
        run.ok();
        for (String line : run.vouchLines()) {
            Skip.unless(!line.contains("no frames of the kernel"), line);
        }

        Predicate<Sample> inKernel = sample -> sample.leaf().category.equals("Kernel");
        Track reader = run.profile().track("reader");
        Predicate<Sample> reads = sample -> inKernel.test(sample) && isReading(sample.functions());
        Track toucher = run.profile().track("toucher");
        Predicate<Sample> faults = sample -> inKernel.test(sample) && isFault(sample.functions());
        for (Track track : new Track[] {reader, toucher, run.profile().track("burner")}) {
            double shown = share(track, inKernel);
            double charged = Double.parseDouble(run.value(track.name));
            Check.atMost(0.08, Math.abs(shown - charged),
                "difference of the kernel's share of " + track.name + ": " + shown + " and " + charged);
        }
        Check.atLeast(0.3, share(reader, reads), "share of reading in the kernel");
        Check.atLeast(0.95, share(reader, reads) / share(reader, inKernel), "of the kernel's time below read");
        Check.atLeast(0.3, share(toucher, faults), "share of page faults");
        Check.atLeast(0.9, share(toucher, faults) / share(toucher, inKernel), "of the kernel's time in page faults");
        boolean cut = toucher.samples.stream().anyMatch(it -> faults.test(it) && it.has("[frames left out]"));
        Check.that(!cut, "a page fault is directly above its Java code");

        JsonObject walks = run.report().json.getAsJsonObject("native_walks");
        double stacks = walks.get("kernel").getAsDouble();
        Check.atLeast(500, stacks, "samples with frames of the kernel");
        Check.atMost(0.02, walks.get("kernel_apart").getAsDouble() / stacks, "share of frames of another moment");
    }

    /** True if the kernel's frames are above a native one, and that is above the Java method. */
    private static boolean isReading(List<String> functions) {
        int method = functions.indexOf(READ);
        return method > 0 && functions.get(0).startsWith("kernel!")
            && functions.subList(0, method).stream().anyMatch(it -> it.startsWith("libc.so"));
    }

    /** True if the kernel's frames are directly above Java code. */
    private static boolean isFault(List<String> functions) {
        int java = functions.indexOf("KernelFrames$Program.touch");
        int outermost = 0;
        while (functions.get(outermost + 1).contains("!")) {
            outermost++;
        }
        return java > outermost && functions.get(outermost).contains("fault");
    }

    private static double share(Track track, Predicate<Sample> wanted) {
        Check.atLeast(300, track.weight(), "samples of " + track.name);
        long with = track.samples.stream().filter(wanted).mapToLong(sample -> sample.weight).sum();
        return (double) with / track.weight();
    }

    static class Program {
        private static final int PAGE = 4_096;
        private static final int BYTES = 8 << 20;
        private static final int MS = Scale.pick(1_000, 5_000);

        private interface Work {
            void run() throws IOException;
        }

        public static void main(String[] args) throws InterruptedException {
            Thread[] threads = {
                new Thread(() -> measured(Program::read), "reader"),
                new Thread(() -> measured(Program::touch), "toucher"),
                new Thread(() -> measured(Program::burn), "burner"),
            };
            for (Thread thread : threads) {
                thread.start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
        }

        /** Prints the part of the thread's CPU time that the kernel charged to itself. */
        private static void measured(Work work) {
            try {
                work.run();
                String stat = new String(Files.readAllBytes(Paths.get("/proc/thread-self/stat")));
                String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
                double user = Double.parseDouble(fields[11]);
                double kernel = Double.parseDouble(fields[12]);
                System.out.println(Thread.currentThread().getName() + "=" + kernel / (user + kernel));
            } catch (IOException error) {
                throw new AssertionError(error);
            }
        }

        private static void read() throws IOException {
            byte[] bytes = new byte[1 << 16];
            FixedWork fixedWork = new FixedWork(MS, 10);
            try (FileInputStream in = new FileInputStream("/dev/zero")) {
                while (fixedWork.isOn()) {
                    // The clock is a system call, too.
                    for (int i = 0; i < 100; i++) {
                        Burn.sink += in.read(bytes);
                    }
                }
            }
        }

        private static void touch() throws IOException {
            Path path = Files.createTempFile(Paths.get("."), "pages", null);
            FixedWork fixedWork = new FixedWork(MS, 10);
            try (FileChannel file = FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
                while (fixedWork.isOn()) {
                    touch(file.map(FileChannel.MapMode.READ_WRITE, 0, BYTES));
                }
            }
            Files.delete(path);
        }

        private static void touch(MappedByteBuffer pages) {
            for (int at = 0; at < BYTES; at += PAGE) {
                pages.put(at, (byte) at);
            }
        }

        private static void burn() {
            FixedWork fixedWork = new FixedWork(MS, 10);
            while (fixedWork.isOn()) {
                Burn.sink += Burn.work(200_000);
            }
        }
    }
}
