import java.io.BufferedReader;
import java.io.FileReader;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.zip.CRC32;

/**
 * A short program for `scripts/fuzz --hunt`. It works for some milliseconds, checks each result,
 * prints what the hunt asks for, and exits with code 7. The first argument is the time. The second
 * is a file for the output, or "-" for stdout. The rest names facts to print: `limits`, `maps
 * TEXT`, `descriptor N`, `children N`, `jumps`, `home`, `threads N AT-ONCE`, `virtual N`, `attached
 * N`, `reloads LIBRARIES`. The last two need `-Dhunted.library`.
 */
public class Hunted {
    private static final int CODE = 7;
    private static final long JUMP_MS = 600_000;
    private static final long EXPECTED = work();

    public static void main(String[] args) throws Exception {
        PrintStream out = args[1].equals("-") ? System.out : new PrintStream(args[1]);
        long until = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000;
        long last = System.currentTimeMillis();
        int jumps = 0;
        do {
            if (work() != EXPECTED) {
                out.println("wrong result");
                System.exit(1);
            }
            long now = System.currentTimeMillis();
            jumps += Math.abs(now - last) > JUMP_MS ? 1 : 0;
            last = now;
        } while (System.nanoTime() < until);
        for (int at = 2; at < args.length; at++) {
            switch (args[at]) {
                case "limits": lines(out, "/proc/self/limits", "Max"); break;
                case "maps": lines(out, "/proc/self/maps", args[++at]); break;
                case "descriptor": out.println("descriptor " + Files.readSymbolicLink(Paths.get("/proc/self/fd", args[++at]))); break;
                case "children": out.println("children " + children(Integer.parseInt(args[++at]))); break;
                case "jumps": out.println("jumps " + jumps); break;
                case "threads": out.println("threads " + threads(Integer.parseInt(args[++at]), Integer.parseInt(args[++at]))); break;
                case "virtual": out.println("virtual " + virtual(Integer.parseInt(args[++at]))); break;
                case "attached": out.println("attached " + attached(Integer.parseInt(args[++at]))); break;
                case "reloads": out.println("reloads " + reloads(args[++at].split(":"))); break;
                case "home": out.println("home " + System.getProperty("java.home")); break;
                default: throw new IllegalArgumentException(args[at]);
            }
        }
        out.println("result " + EXPECTED);
        out.flush();
        System.exit(CODE);
    }

    /** The entry point for a JVM that a C program creates; the last argument is the time. */
    static void work(int millis) {
        long until = System.nanoTime() + millis * 1_000_000L;
        while (System.nanoTime() < until) {
            if (work() != EXPECTED) {
                throw new AssertionError("wrong result");
            }
        }
    }

    private static long work() {
        CRC32 sum = new CRC32();
        StringBuilder text = new StringBuilder();
        for (int at = 0; at < 300; at++) {
            text.append(step(at));
        }
        byte[] bytes = text.toString().getBytes();
        sum.update(bytes, 0, bytes.length);
        return sum.getValue();
    }

    /** A debugger's breakpoint is here. */
    private static int step(int at) {
        int square = at * at;
        int rest = square % 1009;
        return rest + at;
    }

    /** How many children exited with 0. */
    private static int children(int count) throws Exception {
        int well = 0;
        for (int at = 0; at < count; at++) {
            well += new ProcessBuilder("true").start().waitFor() == 0 ? 1 : 0;
        }
        return well;
    }

    /** How many threads worked well: each works, sleeps, waits, and works. */
    private static int threads(int count, int atOnce) throws Exception {
        AtomicInteger well = new AtomicInteger();
        for (int begun = 0; begun < count; begun += atOnce) {
            Thread[] threads = new Thread[atOnce];
            CountDownLatch all = new CountDownLatch(atOnce);
            for (int at = 0; at < atOnce; at++) {
                threads[at] = new Thread(() -> {
                    all.countDown();
                    well.addAndGet(waited(all));
                });
                threads[at].start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
        }
        return well.get();
    }

    private static int waited(CountDownLatch all) {
        try {
            all.await();
            Thread.sleep(1);
            return work() == EXPECTED ? 1 : 0;
        } catch (InterruptedException error) {
            return 0;
        }
    }

    /** How many virtual threads worked well. Each parks in between. */
    private static int virtual(int count) throws Exception {
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        AtomicInteger well = new AtomicInteger();
        CountDownLatch all = new CountDownLatch(count);
        for (int at = 0; at < count; at++) {
            boolean works = at % 10 == 0;
            start.invoke(null, (Runnable) () -> {
                LockSupport.parkNanos(100_000);
                well.addAndGet(!works || work() == EXPECTED ? 1 : 0);
                all.countDown();
            });
        }
        all.await();
        return well.get();
    }

    /** How many threads of C attached, called `work`, and detached. */
    private static int attached(int count) {
        System.load(System.getProperty("hunted.library"));
        return attach(count);
    }

    /**
     * How often one of the libraries was loaded, ran, and was unloaded, and then code of the
     * program's own ran at its address.
     */
    private static int reloads(String[] libraries) {
        System.load(System.getProperty("hunted.library"));
        int times = 0;
        for (long until = System.nanoTime() + 1_500_000_000L; System.nanoTime() < until;) {
            times += reload(libraries[times % libraries.length]);
        }
        return times;
    }

    private static native int attach(int count);

    private static native int reload(String library);

    private static void lines(PrintStream out, String file, String part) throws Exception {
        try (BufferedReader reader = new BufferedReader(new FileReader(file))) {
            for (String line; (line = reader.readLine()) != null;) {
                if (line.contains(part)) {
                    out.println(line);
                }
            }
        }
    }
}
