import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ForkJoinPool;
import java.util.function.Function;
import java.util.function.IntPredicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Everyday Java, a piece of each kind in a round: streams, collections, regular expressions,
 * reflection, method handles, formatting, lambdas, exceptions. A second method calculates each
 * result for comparison. Arguments: seconds.
 */
public final class Mix {
    private static final Pattern LINE =
        Pattern.compile("^(\\d+)\\s+\\[(?<level>INFO|WARN)]\\s+(\\w+)(?:\\.\\w+)*: took (\\d+) ms$");
    private static final Pattern PRICE = Pattern.compile("(?:(\\d{1,3}),)*(\\d{1,3})\\.(\\d\\d)");
    /** On two processors the common pool would start a thread for each task. */
    private static final ForkJoinPool POOL = new ForkJoinPool(2);

    private Mix() {}

    public static void main(String[] args) {
        Random random = new Random(1);
        Rounds.run(args[0], "everyday Java", () -> {
            streams(random.ints(20_000, 0, 500).toArray());
            paths(random, 60);
            expressions(random, 1_000);
            reflection(500);
            handles(2_000);
            formatting(random, 500);
            lambdas(random.ints(3_000).toArray());
            exceptions(300);
            futures(200);
        });
    }

    static void streams(int[] numbers) {
        Map<String, Long> counts = Arrays.stream(numbers).boxed().parallel()
            .filter(n -> n % 3 != 0)
            .collect(Collectors.groupingByConcurrent(n -> "n" + n % 50, Collectors.counting()));
        long plain = 0;
        for (int number : numbers) {
            plain += number % 3 != 0 ? 1 : 0;
        }
        Rounds.same(plain, counts.values().stream().mapToLong(Long::longValue).sum(), "numbers in groups");
        List<Integer> sorted = Arrays.stream(numbers).distinct().boxed().sorted(Comparator.reverseOrder()).limit(100)
            .flatMap(n -> IntStream.rangeClosed(0, n % 3).mapToObj(i -> n)).distinct().collect(Collectors.toList());
        Rounds.same(100, sorted.size(), "greatest numbers");
        Rounds.same(Arrays.stream(numbers).max().getAsInt(), sorted.get(0), "the greatest number");
    }

    /**
     * The cheapest path across a grid, to the right and down: by Dijkstra's algorithm, and cell by
     * cell.
     */
    private static void paths(Random random, int side) {
        int[] costs = random.ints(side * side, 1, 10).toArray();
        Map<Integer, Integer> best = new HashMap<>();
        PriorityQueue<int[]> open = new PriorityQueue<>(Comparator.comparingInt(entry -> entry[1]));
        open.add(new int[] {0, costs[0]});
        while (!open.isEmpty()) {
            int[] entry = open.poll();
            if (best.putIfAbsent(entry[0], entry[1]) == null) {
                for (int next : neighbours(entry[0], side)) {
                    open.add(new int[] {next, entry[1] + costs[next]});
                }
            }
        }
        int[] cells = new int[side * side];
        for (int i = 0; i < cells.length; i++) {
            int left = i % side == 0 ? Integer.MAX_VALUE : cells[i - 1];
            int above = i < side ? Integer.MAX_VALUE : cells[i - side];
            cells[i] = costs[i] + (i == 0 ? 0 : Math.min(left, above));
        }
        Rounds.same(cells[cells.length - 1], best.get(cells.length - 1), "the cheapest way");
    }

    private static Iterable<Integer> neighbours(int cell, int side) {
        ArrayDeque<Integer> next = new ArrayDeque<>();
        if (cell % side < side - 1) {
            next.add(cell + 1);
        }
        if (cell < side * (side - 1)) {
            next.add(cell + side);
        }
        return next;
    }

    private static void expressions(Random random, int lines) {
        TreeMap<String, Integer> expected = new TreeMap<>();
        StringBuilder log = new StringBuilder();
        for (int i = 0; i < lines; i++) {
            int took = random.nextInt(10_000);
            String level = i % 7 == 0 ? "WARN" : "INFO";
            expected.merge(level, took, Integer::sum);
            log.append(i).append("  [").append(level).append("] app.part").append(i % 9).append(".Task: took ").append(took)
                .append(" ms\n");
        }
        TreeMap<String, Integer> found = new TreeMap<>();
        for (String line : log.toString().split("\n")) {
            Matcher matcher = LINE.matcher(line);
            if (matcher.find()) {
                found.merge(matcher.group("level"), Integer.parseInt(matcher.group(4)), Integer::sum);
            }
        }
        Rounds.same(expected, found, "times by level");
    }

    /** A bean that reflection reads and writes. */
    public static final class Bean {
        public int number;
        private String text = "";

        public String getText() {
            return text;
        }

        public void setText(String value) {
            text = value;
        }
    }

    static void reflection(int times) throws ReflectiveOperationException {
        Field number = Bean.class.getField("number");
        Method get = Bean.class.getMethod("getText");
        Method set = Bean.class.getMethod("setText", String.class);
        Bean bean = Bean.class.getConstructor().newInstance();
        Class<?>[] faces = {Comparable.class};
        Object proxy = Proxy.newProxyInstance(Mix.class.getClassLoader(), faces,
            (self, method, arguments) -> method.getName().equals("compareTo") ? arguments[0].hashCode() : null);
        Method compare = Comparable.class.getMethod("compareTo", Object.class);
        for (int i = 0; i < times; i++) {
            number.setInt(bean, number.getInt(bean) + i);
            set.invoke(bean, (String) get.invoke(bean) + i % 10);
            Rounds.same(i, compare.invoke(proxy, i), "the proxy's answer");
        }
        Rounds.same(times * (times - 1) / 2, bean.number, "the field");
        Rounds.same(times, bean.getText().length(), "the property");
        try {
            set.invoke(null, "");
            throw new AssertionError("a method was invoked on null");
        } catch (NullPointerException expected) {
            Rounds.same(times, bean.getText().length(), "the property after a failure");
        }
    }

    /** Looked up once, since JDK 8 may not find a method while its class is being redefined. */
    static final class Collatz {
        static final MethodHandle STEP = step();

        private static MethodHandle step() {
            try {
                return MethodHandles.lookup().findStatic(Collatz.class, "collatz", MethodType.methodType(int.class, int.class));
            } catch (ReflectiveOperationException error) {
                throw new AssertionError(error);
            }
        }

        static int collatz(int n) {
            return n % 2 == 0 ? n / 2 : 3 * n + 1;
        }
    }

    static void handles(int times) throws Throwable {
        MethodHandles.Lookup lookup = MethodHandles.lookup();
        MethodHandle twice = MethodHandles.filterReturnValue(Collatz.STEP, Collatz.STEP);
        MethodHandle even = lookup.findVirtual(IntPredicate.class, "test", MethodType.methodType(boolean.class, int.class))
            .bindTo((IntPredicate) n -> n % 2 == 0);
        MethodHandle guarded = MethodHandles.guardWithTest(even, Collatz.STEP, twice);
        MethodHandle spread = guarded.asType(MethodType.genericMethodType(1)).asSpreader(Object[].class, 1);
        for (int i = 1; i <= times; i++) {
            int plain = i % 2 == 0 ? Collatz.collatz(i) : Collatz.collatz(Collatz.collatz(i));
            Rounds.same(plain, (int) guarded.invokeExact(i), "a guarded handle");
            Rounds.same(plain, spread.invoke(new Object[] {i}), "a spread handle");
            Rounds.same(plain, guarded.invokeWithArguments(i), "a handle with arguments");
        }
    }

    private static void formatting(Random random, int times) {
        for (int i = 0; i < times; i++) {
            BigDecimal price = new BigDecimal(BigInteger.valueOf(random.nextInt(1_000_000_000)), 2);
            String line = String.format(Locale.ROOT, "%-12s|%,15.2f|%08x|%s", "item" + i, price, i, i % 2 == 0);
            String[] parts = line.split("\\|");
            Rounds.check(PRICE.matcher(parts[1].trim()).matches(), "no price: " + parts[1]);
            Rounds.same(price, new BigDecimal(parts[1].trim().replace(",", "")), "the price");
            Rounds.same(i, Integer.parseInt(parts[2], 16), "the number");
        }
    }

    static void lambdas(int[] numbers) {
        Function<Integer, Integer> all = Function.identity();
        for (int i = 0; i < 20; i++) {
            int add = i;
            all = i % 2 == 0 ? all.andThen(n -> n + add) : all.compose(n -> n - add);
        }
        List<Integer> sorted = new ArrayList<>();
        for (int number : numbers) {
            sorted.add(all.apply(number));
        }
        sorted.sort(Comparator.<Integer>comparingInt(n -> n & 15).thenComparing(Comparator.reverseOrder()));
        for (int i = 1; i < sorted.size(); i++) {
            int before = sorted.get(i - 1);
            int after = sorted.get(i);
            Rounds.check((before & 15) < (after & 15) || (before & 15) == (after & 15) && before >= after, "not sorted");
        }
        int sum = Arrays.stream(numbers).map(n -> n - 10).sum();
        Rounds.same(sum, sorted.stream().mapToInt(Integer::intValue).sum(), "the sum after twenty functions");
    }

    private static int deep(int depth) {
        if (depth == 0) {
            throw new IllegalStateException("the bottom");
        }
        try {
            return deep(depth - 1) + 1;
        } finally {
            depth--;
        }
    }

    private static void exceptions(int times) throws Exception {
        Method method = Mix.class.getDeclaredMethod("deep", int.class);
        int caught = 0;
        for (int i = 0; i < times; i++) {
            try {
                method.invoke(null, i % 50);
            } catch (InvocationTargetException error) {
                caught += error.getCause() instanceof IllegalStateException ? 1 : 0;
                Rounds.check(error.getCause().getStackTrace().length > i % 50, "the trace is too short");
            }
        }
        Rounds.same(times, caught, "exceptions caught");
    }

    private static void futures(int times) {
        ConcurrentHashMap<Integer, Integer> sums = new ConcurrentHashMap<>();
        CompletableFuture<?>[] all = IntStream.range(0, times)
            .mapToObj(i -> CompletableFuture.supplyAsync(() -> i * 2, POOL).thenApplyAsync(n -> n + 1, POOL)
                .thenAcceptBoth(CompletableFuture.supplyAsync(() -> -i, POOL), (a, b) -> sums.merge(i % 8, a + b, Integer::sum)))
            .toArray(CompletableFuture[]::new);
        CompletableFuture.allOf(all).join();
        Rounds.same(times * (times - 1) / 2 + times, sums.values().stream().mapToInt(n -> n).sum(), "the sum of all futures");
    }
}
