import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongUnaryOperator;
import java.util.stream.IntStream;

/**
 * Small programs in which the compilers inline a method into its caller. The programs measure how
 * much CPU time that method takes.
 *
 * In most of them one thread alternates work() and rest() and reads its own CPU clock in between.
 * Each program has a separate JVM, so that the compilers see one receiver at each call. At the end
 * it writes the file that -Dvouch.known names. A line `CLASS.METHOD MILLISECONDS` is for each
 * judged method, and a line `all` for all threads since main() began.
 *
 * Arguments: the program's name, seconds, and the arguments of Sweep and Slowed.
 */
public final class Twins {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final Map<String, AtomicLong> TOOK = new LinkedHashMap<>();
    private static final int SIZE = 1 << 12;
    /** The results of work() are stored here, so that a compiler cannot remove it. */
    static volatile long result;

    private Twins() {}

    /** A program; work() is inlined into turn(). */
    abstract static class Twin {
        final AtomicLong worked = judged("work");
        private final AtomicLong rested = judged("rest");
        private final Random repeats = new Random(7);

        abstract long work();

        /** By default a loop that neither stores nor calls. */
        long rest() {
            long sum = 1;
            for (int at = 0; at < SIZE * 8; at++) {
                sum = sum * 31 + at;
            }
            return sum;
        }

        void turn() {
            // Repeats the work, so that reading the clock costs next to nothing. The number of
            // repeats varies, so that no sampler can be in step with it.
            int more = repeats.nextInt(10);
            long before = THREADS.getCurrentThreadCpuTime();
            for (int times = -5; times < more; times++) {
                result = work();
            }
            long between = THREADS.getCurrentThreadCpuTime();
            for (int times = -5; times < more; times++) {
                result = rest();
            }
            worked.addAndGet(between - before);
            rested.addAndGet(THREADS.getCurrentThreadCpuTime() - between);
        }

        void run(long seconds) throws Exception {
            for (long end = end(seconds); System.nanoTime() < end;) {
                turn();
            }
        }

        /** The counter of a method, under the name of the class that declares it. */
        final AtomicLong judged(String method) {
            Class<?> owner = getClass();
            while (Arrays.stream(owner.getDeclaredMethods()).noneMatch(own -> own.getName().equals(method))) {
                owner = owner.getSuperclass();
            }
            return TOOK.computeIfAbsent(owner.getName() + "." + method, name -> new AtomicLong());
        }
    }

    static final class Volatile extends Twin {
        private volatile int counter;

        @Override
        long work() {
            for (int at = 0; at < SIZE; at++) {
                counter++;
            }
            return counter;
        }
    }

    static final class Atomic extends Twin {
        private final Random random = new Random(1);

        @Override
        long work() {
            long sum = 0;
            for (int at = 0; at < SIZE; at++) {
                sum += random.nextInt();
            }
            return sum;
        }
    }

    static final class Division extends Twin {
        private long divisor = 3;

        @Override
        long work() {
            long sum = Long.MAX_VALUE;
            for (int at = 0; at < SIZE; at++) {
                sum += (Long.MAX_VALUE - at) / (divisor + (sum & 7));
            }
            return sum;
        }
    }

    /** Loads that miss the caches. */
    static final class Misses extends Twin {
        private final int[] next = IntStream.range(0, 1 << 24).toArray();
        private int at;

        Misses() {
            Random random = new Random(1);
            for (int last = next.length - 1; last > 0; last--) { // one circle through all
                int other = random.nextInt(last);
                int swapped = next[last];
                next[last] = next[other];
                next[other] = swapped;
            }
        }

        @Override
        long work() {
            int place = at;
            for (int times = 0; times < 512; times++) {
                place = next[place];
            }
            return at = place;
        }
    }

    /** A lock without contention. */
    static final class Locked extends Twin {
        private final Object lock = new Object();
        private long counter;

        @Override
        long work() {
            for (int at = 0; at < SIZE; at++) {
                synchronized (lock) {
                    counter += at;
                }
            }
            return counter;
        }
    }

    static final class Strings extends Twin {
        @Override
        long work() {
            StringBuilder text = new StringBuilder();
            for (int at = 0; at < SIZE / 8; at++) {
                text.append(at).append(':').append("word");
            }
            return text.length();
        }
    }

    static final class Copies extends Twin {
        private final Object[] from = new Object[300];
        private Object[] to;

        @Override
        long work() {
            for (int at = 0; at < SIZE / 16; at++) {
                to = new Object[from.length];
                System.arraycopy(from, 0, to, 0, from.length);
            }
            return to.length;
        }
    }

    /** A loop that C2 vectorises. */
    static final class Vectors extends Twin {
        private final int[] left = new int[SIZE * 4];
        private final int[] right = new int[SIZE * 4];

        @Override
        long work() {
            for (int times = 0; times < 8; times++) {
                for (int at = 0; at < left.length; at++) {
                    left[at] += right[at] * 3;
                }
            }
            return left[7];
        }
    }

    /** A loop that C2 unrolls: a reduction with a condition. */
    static final class Unrolled extends Twin {
        private final int[] numbers = new Random(1).ints(SIZE * 4, 0, 100).toArray();

        @Override
        long work() {
            int most = 0;
            for (int at = 0; at < numbers.length; at++) {
                most = (most ^ numbers[at]) + (numbers[at] & most);
            }
            return most;
        }
    }

    static final class Streams extends Twin {
        @Override
        long work() {
            return IntStream.range(0, SIZE).filter(at -> at % 3 == 0).mapToLong(at -> (long) at * at).sum();
        }
    }

    /** Boxed keys and values. */
    static final class Boxed extends Twin {
        private final Map<Integer, Integer> counts = new HashMap<>();

        @Override
        long work() {
            for (int at = 0; at < SIZE / 4; at++) {
                counts.merge(at * 7 % 1_000, 1, Integer::sum);
            }
            return counts.size();
        }
    }

    static final class Thrown extends Twin {
        private static final RuntimeException MADE = new IllegalStateException("made once");

        @Override
        long work() {
            int caught = 0;
            for (int at = 0; at < SIZE; at++) {
                try {
                    if ((at & 3) == 0) {
                        throw MADE;
                    }
                } catch (IllegalStateException error) {
                    caught += error.getMessage().length();
                }
            }
            return caught;
        }
    }

    /** Stores references into old objects, beside a cheap loop. */
    static final class Stores extends Twin {
        private final Object[] old = new Object[SIZE];

        @Override
        long work() {
            Object made = new int[] {1};
            for (int times = 0; times < 4; times++) {
                for (int at = 0; at < old.length; at++) {
                    old[at * 31 & old.length - 1] = made;
                }
            }
            return old.length;
        }
    }

    /** Three nested methods, each with a part of the work. */
    static final class Chain extends Twin {
        private final AtomicLong below = judged("middle");
        private final AtomicLong lowest = judged("inner");
        private long state = 1;

        @Override
        long work() {
            for (int at = 0; at < SIZE * 8; at++) {
                state = state * 31 + at;
            }
            long before = THREADS.getCurrentThreadCpuTime();
            long got = middle();
            below.addAndGet(THREADS.getCurrentThreadCpuTime() - before);
            return got;
        }

        private long middle() {
            for (int at = 0; at < SIZE * 8; at++) {
                state ^= state << 13 ^ at;
            }
            long before = THREADS.getCurrentThreadCpuTime();
            long got = inner();
            lowest.addAndGet(THREADS.getCurrentThreadCpuTime() - before);
            return got;
        }

        private long inner() {
            for (int at = 0; at < SIZE * 8; at++) {
                state += state >>> 7 ^ at;
            }
            return state;
        }
    }

    /** A task of a thread pool: its whole work is inlined into the method that the pool calls. */
    static class Pooled extends Twin {
        @Override
        long work() {
            Random random = new Random(1);
            for (int at = 0; at < 15_000; at++) {
                result += random.nextInt();
            }
            return result;
        }

        @Override
        void run(long seconds) throws Exception {
            ExecutorService pool = pool();
            for (long end = end(seconds); System.nanoTime() < end;) {
                List<Future<?>> tasks = new ArrayList<>();
                for (int task = 0; task < 200; task++) {
                    tasks.add(pool.submit(() -> {
                        long before = clock();
                        long got = work();
                        worked.addAndGet(clock() - before);
                        return got;
                    }));
                }
                for (Future<?> task : tasks) {
                    task.get();
                }
            }
            writeKnown(); // while the pool's threads are there and can be asked
            pool.shutdown();
        }

        long clock() {
            return THREADS.getCurrentThreadCpuTime();
        }

        ExecutorService pool() throws Exception {
            return Executors.newFixedThreadPool(2);
        }
    }

    /**
     * The same with a virtual thread for each task. Virtual threads have no CPU clock, so this
     * program measures elapsed time. It should run with one carrier
     * (jdk.virtualThreadScheduler.parallelism=1).
     */
    static final class Virtual extends Pooled {
        @Override
        long clock() {
            return System.nanoTime();
        }

        @Override
        ExecutorService pool() throws Exception {
            return (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
        }
    }

    /**
     * Two methods with the same kind of work: the first does this many hundredths of it. They are
     * called in one of three ways.
     */
    static final class Sweep extends Twin {
        private final LongUnaryOperator first;
        private final LongUnaryOperator second;
        private final int hundredths;
        private final AtomicLong ofFirst = judged("first");
        private final AtomicLong ofSecond = judged("second");

        Sweep(String way, String hundredths) {
            this.hundredths = Integer.parseInt(hundredths);
            switch (way) {
                case "direct":
                    first = null;
                    second = null;
                    break;
                case "lambda":
                    first = Sweep::first;
                    second = Sweep::second;
                    break;
                default:
                    first = new LongUnaryOperator() {
                        @Override
                        public long applyAsLong(long state) {
                            return first(state);
                        }
                    };
                    second = new LongUnaryOperator() {
                        @Override
                        public long applyAsLong(long state) {
                            return second(state);
                        }
                    };
            }
        }

        @Override
        long work() {
            long before = THREADS.getCurrentThreadCpuTime();
            long state = 1;
            for (int at = 0; at < hundredths; at++) {
                state = first == null ? first(state) : first.applyAsLong(state);
            }
            long between = THREADS.getCurrentThreadCpuTime();
            for (int at = hundredths; at < 100; at++) {
                state = second == null ? second(state) : second.applyAsLong(state);
            }
            ofFirst.addAndGet(between - before);
            ofSecond.addAndGet(THREADS.getCurrentThreadCpuTime() - between);
            return state;
        }

        @Override
        long rest() {
            return 0;
        }

        static long first(long state) {
            for (int at = 0; at < 1_000; at++) {
                state = state * 31 + at;
            }
            return state;
        }

        static long second(long state) {
            for (int at = 0; at < 1_000; at++) {
                state = state * 31 + at;
            }
            return state;
        }
    }

    /** Five methods: the one named in the argument does its work twice. */
    static final class Slowed extends Twin {
        private static final int[] NUMBERS = new Random(1).ints(SIZE, 1, 1_000).toArray();
        private static volatile int counter;
        private final String slow;
        private final AtomicLong[] took = new AtomicLong[5];

        Slowed(String slow) {
            this.slow = slow;
            for (int at = 0; at < took.length; at++) {
                took[at] = judged(METHODS[at]);
            }
        }

        private static final String[] METHODS = {"hashed", "divided", "counted", "built", "summed"};

        @Override
        long work() {
            long clock = THREADS.getCurrentThreadCpuTime();
            long got = 0;
            for (int which = 0; which < METHODS.length; which++) {
                got += slow.equals(METHODS[which]) ? once(which) + once(which) : once(which);
                long now = THREADS.getCurrentThreadCpuTime();
                took[which].addAndGet(now - clock);
                clock = now;
            }
            return got;
        }

        @Override
        long rest() {
            return 0;
        }

        private static long once(int which) {
            switch (which) {
                case 0: return hashed();
                case 1: return divided();
                case 2: return counted();
                case 3: return built();
                default: return summed();
            }
        }

        private static long hashed() {
            int hash = 7;
            for (int times = 0; times < 4; times++) {
                for (int number : NUMBERS) {
                    hash = (hash ^ number) * 16_777_619;
                }
            }
            return hash;
        }

        private static long divided() {
            int sum = Integer.MAX_VALUE;
            for (int number : NUMBERS) {
                sum = Integer.MAX_VALUE / number + sum % 7;
            }
            return sum;
        }

        private static long counted() {
            for (int at = 0; at < SIZE / 2; at++) {
                counter++;
            }
            return counter;
        }

        private static long built() {
            StringBuilder text = new StringBuilder();
            for (int at = 0; at < SIZE / 8; at++) {
                text.append(NUMBERS[at]);
            }
            return text.length();
        }

        private static long summed() {
            long sum = 0;
            for (int times = 0; times < 16; times++) {
                for (int number : NUMBERS) {
                    sum += number;
                }
            }
            return sum;
        }
    }

    public static void main(String[] args) throws Exception {
        startedWith = threadTime();
        twin(args).run(Long.parseLong(args[1]));
        writeKnown();
    }

    private static Twin twin(String[] args) throws Exception {
        switch (args[0]) {
            case "Sweep": return new Sweep(args[2], args[3]);
            case "Slowed": return new Slowed(args[2]);
            default:
                return (Twin) Class.forName("Twins$" + args[0]).getDeclaredConstructor().newInstance();
        }
    }

    static long end(long seconds) {
        return System.nanoTime() + seconds * 1_000_000_000;
    }

    private static long startedWith;
    private static boolean written;

    /** The CPU time of all threads that have a CPU clock, in nanoseconds. */
    private static long threadTime() {
        return Arrays.stream(THREADS.getAllThreadIds()).map(THREADS::getThreadCpuTime).filter(time -> time > 0).sum();
    }

    static void writeKnown() throws Exception {
        if (written) {
            return;
        }
        written = true;
        long all = threadTime() - startedWith;
        try (PrintWriter out = new PrintWriter(System.getProperty("vouch.known"), "UTF-8")) {
            TOOK.forEach((method, nanos) -> {
                if (nanos.get() > 0) {
                    out.println(method + " " + nanos.get() / 1_000_000);
                }
            });
            out.println("all " + all / 1_000_000);
        }
    }
}
