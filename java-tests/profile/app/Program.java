package app;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Array;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

import dev.vouch.test.Burn;
import dev.vouch.test.FixedWork;

/**
 * A program of known threads and methods. It prints when each of its threads ran its first and last
 * instruction, on the clock of System.nanoTime. It also prints each thread's CPU time.
 */
public class Program {
    public static final String ALPHA = "worker-alpha";
    public static final String BETA = "worker-beta";
    /** A name with a letter of two bytes in UTF-8, and one of four. */
    public static final String GAMMA = "worker-\u00df-\ud83e\uddf5";
    public static final long ALPHA_MS = 150;
    public static final long INNER_MS = 150;
    public static final long ANONYMOUS_MS = 100;
    public static final long LAMBDA_MS = 100;
    public static final long HIDDEN_MS = 100;
    public static final long JDK_MS = 150;

    public static void main(String[] args) throws Exception {
        // Loads the classes that the first call needs, outside of the measured work.
        Burn.millis(1);
        long begin = System.nanoTime();
        Map<String, Runnable> work = new LinkedHashMap<>();
        work.put(ALPHA, new Alpha());
        work.put(BETA, new Inner());
        work.put(GAMMA, Program::sort);
        for (Map.Entry<String, Runnable> entry : work.entrySet()) {
            // A thread's lifetime includes some code before and after its measured work.
            Watched watched = new Watched(entry.getValue());
            Thread thread = new Thread(watched, entry.getKey());
            System.out.println(label(entry.getKey()) + ".created=" + System.nanoTime());
            thread.start();
            thread.join();
            System.out.println(label(entry.getKey()) + ".first=" + watched.first);
            System.out.println(label(entry.getKey()) + ".last=" + watched.last);
            System.out.println(label(entry.getKey()) + ".cpu=" + watched.cpu);
        }
        new Runnable() {
            @Override
            public void run() {
                // begin Program$1.run
                burn(ANONYMOUS_MS);
                // end Program$1.run
            }
        }.run();
        Runnable lambda = () -> {
            // begin lambda
            burn(LAMBDA_MS);
            // end lambda
        };
        lambda.run();
        System.out.println("hidden=" + runHidden());
        System.out.println("folder=" + Program.class.getProtectionDomain().getCodeSource().getLocation().getPath());
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            System.out.println("thread: " + thread.getName());
        }
        System.out.println("begin=" + begin);
        System.out.println("end=" + System.nanoTime());
    }

    /** The thread's name in letters that every console can print. */
    public static String label(String thread) {
        return thread.equals(GAMMA) ? "worker-gamma" : thread;
    }

    static long burn(long millis) {
        // begin Program.burn
        return Burn.millis(millis);
        // end Program.burn
    }

    /** Time that is spent in the JDK. */
    static void sort() {
        // begin Program.sort
        FixedWork fixedWork = new FixedWork(JDK_MS);
        while (fixedWork.isOn()) {
            Integer[] numbers = new Integer[2000];
            for (int i = 0; i < numbers.length; i++) {
                numbers[i] = i * 7919 % 2003;
            }
            Arrays.sort(numbers);
            Burn.sink += numbers[0];
        }
        // end Program.sort
    }

    /** Runs {@link Hidden} as a hidden class, if this JDK has them: its name, or "none". */
    private static String runHidden() throws Exception {
        if (System.getProperty("java.specification.version").startsWith("1.")
                || Integer.getInteger("java.specification.version", 0) < 15) {
            return "none";
        }
        Class<?> option = Class.forName("java.lang.invoke.MethodHandles$Lookup$ClassOption");
        Object lookup = MethodHandles.Lookup.class
            .getMethod("defineHiddenClass", byte[].class, boolean.class, Array.newInstance(option, 0).getClass())
            .invoke(MethodHandles.lookup(), bytes("Hidden.class"), true, Array.newInstance(option, 0));
        Class<?> hidden = ((MethodHandles.Lookup) lookup).lookupClass();
        ((Runnable) hidden.getDeclaredConstructor().newInstance()).run();
        return hidden.getName();
    }

    private static byte[] bytes(String resource) throws IOException {
        try (InputStream in = Program.class.getResourceAsStream(resource)) {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            for (int next = in.read(); next >= 0; next = in.read()) {
                out.write(next);
            }
            return out.toByteArray();
        }
    }

    static class Alpha implements Runnable {
        @Override
        public void run() {
            // begin Program$Alpha.run
            alpha();
            // end Program$Alpha.run
        }

        static void alpha() {
            // begin Program$Alpha.alpha
            long until = Burn.cpuNanos() + ALPHA_MS * 1_000_000;
            while (Burn.cpuNanos() < until) {
                long value = 1;
                for (int i = 0; i < 50_000; i++) {
                    value = value * 31 + (value >>> 7 ^ i);
                }
                Burn.sink += value;
            }
            // end Program$Alpha.alpha
        }
    }

    static class Inner implements Runnable {
        @Override
        public void run() {
            // begin Program$Inner.run
            new Innermost().run();
            // end Program$Inner.run
        }

        static class Innermost {
            void run() {
                // begin Program$Inner$Innermost.run
                burn(INNER_MS);
                // end Program$Inner$Innermost.run
            }
        }
    }

    static class Watched implements Runnable {
        private final Runnable work;
        volatile long first;
        volatile long last;
        volatile long cpu;

        Watched(Runnable work) {
            this.work = work;
        }

        @Override
        public void run() {
            first = System.nanoTime();
            work.run();
            cpu = Burn.cpuNanos();
            last = System.nanoTime();
        }
    }
}
