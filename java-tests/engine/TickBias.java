/*
 * An engine that samples at the kernel's ticks sees a thread that sleeps and wakes often at some of
 * its places more than at others, and so does a poller, of threads that run for some microseconds
 * at a time. Their profiles say so, and that of a thread that works on does not.
 *
 * @test
 * @summary where an engine gives wrong shares within threads the profile says so
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main TickBias
 */

import java.util.concurrent.SynchronousQueue;

import com.google.gson.JsonElement;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Skip;
import dev.vouch.test.Vm;

public class TickBias {
    public static void main(String[] args) {
        for (String engine : new String[] {"timer", "itimer", "poll"}) {
            Check.equal(true, isBiased("engine=" + engine, "hand"), engine + " says that threads wait often");
        }
        for (String engine : new String[] {"timer", "poll"}) {
            Check.equal(false, isBiased("engine=" + engine, "work"), engine + " says so of a thread that works on");
        }
        Check.equal(false, isBiased("engine=perf", "hand"), "perf says so");
    }

    private static boolean isBiased(String options, String what) {
        Run run = Vm.with("interval=1ms," + options).run(Program.class, what);
        Skip.ifEngineRefused(run);
        run.ok();
        for (JsonElement note : run.report().json.getAsJsonArray("engine_notes")) {
            if (note.getAsString().contains("threads that wait this often are biased")) {
                return true;
            }
        }
        return false;
    }

    static class Program {
        public static void main(String[] args) throws Exception {
            if (args[0].equals("work")) {
                Burn.millis(800);
                return;
            }
            SynchronousQueue<Integer> queue = new SynchronousQueue<>();
            Thread taker = new Thread(() -> {
                try {
                    while (queue.take() > 0) {
                        continue;
                    }
                } catch (InterruptedException error) {
                    throw new AssertionError(error);
                }
            });
            taker.start();
            // Both wait for each other each time.
            for (long end = System.nanoTime() + 1_500_000_000L; System.nanoTime() < end;) {
                for (int times = 0; times < 100; times++) {
                    queue.put(1);
                }
            }
            queue.put(0);
            taker.join();
        }
    }
}
