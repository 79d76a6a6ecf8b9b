import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.CRC32;

/**
 * What scripts/profile runs when no program is named: an order book under load, for some five
 * seconds.
 *
 * Three threads do different work at different weights, so that the timeline has something to show:
 * one makes orders, one prices them (twice as busy), one writes reports and makes garbage. Java 8,
 * no libraries, no input.
 */
public class Demo {
    static final long SECONDS = Long.getLong("demo.seconds", 5);
    static final long END = System.nanoTime() + SECONDS * 1_000_000_000L;

    public static void main(String[] arguments) throws InterruptedException {
        List<Thread> threads = Arrays.asList(
            new Thread(new Orders(), "orders"),
            new Thread(new Pricing(), "pricing"),
            new Thread(new Reports(), "reports"));
        for (Thread thread : threads) thread.start();
        for (Thread thread : threads) thread.join();
        System.out.println("the demonstration has ended: " + Orders.parsed + " orders, " + Pricing.priced
            + " prices, " + Reports.written + " reports");
    }

    static boolean running() {
        return System.nanoTime() < END;
    }

    /** Works for a part of each 20 ms. */
    static void pace(long busyMillis, Runnable work) {
        while (running()) {
            long until = System.nanoTime() + busyMillis * 1_000_000L;
            while (System.nanoTime() < until) work.run();
            try {
                Thread.sleep(20 - busyMillis);
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    /** Reads orders with a regular expression, and sums them up. */
    static class Orders implements Runnable {
        static final Pattern LINE = Pattern.compile("(\\w+)\\s+x(\\d+)\\s+@(\\d+\\.\\d+)");
        static volatile long parsed;
        final Map<String, Integer> stock = new HashMap<>();

        @Override
        public void run() {
            pace(8, () -> {
                for (int i = 0; i < 50; i++) parse("widget" + i % 7 + " x" + i + " @" + i + ".25");
            });
        }

        void parse(String line) {
            Matcher matcher = LINE.matcher(line);
            if (matcher.matches()) {
                stock.merge(matcher.group(1), Integer.parseInt(matcher.group(2)), Integer::sum);
                parsed++;
            }
        }
    }

    /** Prices a basket: arithmetic and sorting. */
    static class Pricing implements Runnable {
        static volatile long priced;
        final Random random = new Random(42);

        @Override
        public void run() {
            pace(16, this::basket);
        }

        void basket() {
            double[] prices = new double[2_000];
            for (int i = 0; i < prices.length; i++) prices[i] = discount(random.nextDouble() * 100, i % 12);
            Arrays.sort(prices);
            priced += prices.length;
        }

        /** One level of discount for each month of custom. */
        double discount(double price, int months) {
            return months == 0 ? price : discount(price * 0.99, months - 1);
        }
    }

    /** Builds long strings and checks sums of them: most of it is garbage at once. */
    static class Reports implements Runnable {
        static volatile long written;

        @Override
        public void run() {
            pace(6, () -> {
                StringBuilder report = new StringBuilder();
                for (int row = 0; row < 400; row++) report.append("row ").append(row).append(";");
                List<String> rows = new ArrayList<>(Arrays.asList(report.toString().split(";")));
                CRC32 sum = new CRC32();
                rows.forEach(row -> sum.update(row.getBytes()));
                written += sum.getValue() == 0 ? 0 : 1;
            });
        }
    }
}
