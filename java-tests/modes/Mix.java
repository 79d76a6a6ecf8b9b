/*
 * A program for the tests in this folder: recursion, collections, streams, strings, reflection,
 * exceptions, a few threads, and enough garbage for every collector. Its output depends only on its
 * arguments.
 */

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import dev.vouch.test.Check;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Vm;

public class Mix {
    static final String[] ARGUMENTS = {"60", "20"};

    private static final int CODE = 23;

    /** Keeps `live` times 100 kB alive. */
    static List<byte[]> kept = new ArrayList<>();

    private static Throwable failure;

    /** ROUNDS LIVE: rounds of work on two threads, and how much they keep alive. */
    public static void main(String[] args) throws Exception {
        int rounds = Integer.parseInt(args[0]);
        int live = Integer.parseInt(args[1]);
        long[] sums = new long[2];
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < sums.length; i++) {
            int at = i;
            Thread thread = new Thread(() -> sums[at] = burn(rounds, live), "mix-" + i);
            thread.setUncaughtExceptionHandler((dead, error) -> failure = error);
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        if (failure != null) {
            throw new IllegalStateException(failure);
        }
        System.out.println("sums=" + sums[0] + " " + sums[1] + " kept " + (kept.size() == 2 * live));
        long collections = 0;
        for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
            collections += Math.max(0, collector.getCollectionCount());
        }
        System.out.println("collected=" + (collections > 0));
        System.exit(CODE);
    }

    private static Run without;

    /**
     * Runs the program under the agent, and checks that it is unchanged and profiled. Returns null
     * if this JVM does not have the flags, or cannot apply them here.
     */
    static Run profiled(Vm vm, Class<?> main) {
        if (without == null) {
            without = Vm.without().run(Mix.class, ARGUMENTS);
        }
        Run run = vm.run(main, ARGUMENTS);
        if (run.exit == 1 && run.out.stream().anyMatch(line -> line.startsWith("Error occurred during initialization of VM"))
                || run.err.stream().anyMatch(line -> line.startsWith("Error: Could not create the Java Virtual Machine"))) {
            return null;
        }
        check(run);
        return run;
    }

    /**
     * Checks that hold for every run of this program. Another test checks how many stacks the JVM's
     * walker finds.
     */
    static void check(Run run) {
        Check.equal(CODE, run.exit, "exit code");
        Check.equal(without.value("sums"), run.value("sums"), "what the program computes");
        List<String> stray = run.otherErr();
        stray.removeIf(line -> line.contains("VM warning: ") || line.startsWith("WARNING: "));
        Check.empty(stray, "lines on stderr that are neither Vouch's nor the JVM's");
        double sampled = 0;
        long mixed = 0;
        for (String name : new String[] {"mix-0", "mix-1"}) {
            Report.ThreadRow row = run.report().thread(name);
            run.report().checkConserved(row);
            sampled += row.sampledMs;
            mixed += run.profile().track(name).weightOf("Mix.burn");
        }
        Check.atLeast(10, sampled, "sampled time of both threads");
        Check.atLeast(0.2 * sampled, mixed, "weight of the stacks with Mix.burn, of " + sampled);
    }

    static long burn(int rounds, int live) {
        long sum = 0;
        for (int round = 0; round < rounds; round++) {
            sum += round(round);
            if (round % 20 == 10) {
                // Without this call the heap's size would decide whether a collection runs.
                System.gc();
            }
        }
        for (int i = 0; i < live; i++) {
            byte[] block = new byte[100_000];
            synchronized (kept) {
                kept.add(block);
            }
        }
        return sum;
    }

    static long round(int round) {
        Map<String, List<Integer>> byEnd = IntStream.range(0, 400).boxed()
            .collect(Collectors.groupingBy(i -> "end " + i % 17, HashMap::new, Collectors.toList()));
        List<String> keys = new ArrayList<>(byEnd.keySet());
        keys.sort(Comparator.comparing(String::length).thenComparing(Comparator.reverseOrder()));
        StringBuilder text = new StringBuilder();
        for (String key : keys) {
            text.append(key).append(byEnd.get(key).stream().mapToInt(Integer::intValue).sum());
        }
        while (text.length() > 20) {
            text.delete(3, 7);
        }
        return deep(100, round) + text.toString().hashCode() + reflect(round) + thrown(round);
    }

    private static long deep(int left, int seed) {
        return left == 0 ? seed : 31 * deep(left - 1, seed) + left;
    }

    private static long reflect(int round) {
        try {
            Method method = Mix.class.getDeclaredMethod("called", int.class);
            return (Integer) method.invoke(null, round);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    static int called(int round) {
        return round ^ 0x55;
    }

    private static int thrown(int round) {
        try {
            throw new IllegalArgumentException("round " + round);
        } catch (IllegalArgumentException error) {
            return error.getMessage().length() + error.getStackTrace()[0].getMethodName().length();
        }
    }
}
