/*
 * A method is inlined into the task that a thread pool runs. AsyncGetCallTrace takes the next debug
 * information, which belongs to the pool. So a third of the time goes to methods that take none. No
 * audit can see it, since the stack is possible.
 */

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

public class TopMethod {
    static volatile long sum;

    static void work() {
        Random random = new Random();
        for (int i = 0; i < 3_000; i++) {
            sum += random.nextInt();
        }
    }

    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        for (long end = System.nanoTime() + 2_000_000_000L; System.nanoTime() < end;) {
            List<Future<?>> tasks = new ArrayList<>();
            for (int i = 0; i < 200; i++) {
                tasks.add(pool.submit(() -> { work(); return 1; }));
            }
            for (Future<?> task : tasks) {
                task.get();
            }
        }
        pool.shutdown();
    }
}
