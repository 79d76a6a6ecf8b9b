/*
 * Threads exhaust their stacks again and again while they are sampled. The handler runs on the same
 * stack, in its last few pages. The program must get its StackOverflowError at the same point as
 * without the agent, and the JVM must survive.
 *
 * @test
 * @summary samples at the very end of a stack do no harm
 * @library /lib
 * @build dev.vouch.test.*
 * @run main StackOverflows
 */

import java.util.ArrayList;
import java.util.List;

import dev.vouch.test.Check;
import dev.vouch.test.Scale;
import dev.vouch.test.WithAndWithoutAgent;

public class StackOverflows {
    public static void main(String[] args) {
        for (String engine : Scale.isFull() ? new String[] {"perf", "timer", "itimer"} : new String[] {"auto"}) {
            WithAndWithoutAgent twice = WithAndWithoutAgent.run("interval=200us,depth=20000,engine=" + engine, new String[0], Program.class).sameErr();
            Check.equal("[overflowed 60 times]", twice.with.out.toString(), "output");
            Check.equal(0, twice.with.exit, "exit code");
            long deep = twice.with.profile().samples().stream().filter(sample -> sample.depth() > 1_000).count();
            Check.atLeast(5, deep, "samples of more than 1000 frames");
        }
    }

    static class Program {
        private static int times;

        public static void main(String[] args) throws InterruptedException {
            List<Thread> threads = new ArrayList<>();
            for (long stack : new long[] {256 << 10, 512 << 10, 4 << 20}) {
                Thread thread = new Thread(null, Program::overflows, "deep", stack);
                threads.add(thread);
                thread.start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
            System.out.println("overflowed " + times + " times");
        }

        private static void overflows() {
            for (int i = 0; i < 20; i++) {
                try {
                    down(0);
                } catch (StackOverflowError expected) {
                    synchronized (Program.class) {
                        times++;
                    }
                }
            }
        }

        private static long down(long depth) {
            return down(depth + 1) + System.nanoTime();
        }
    }
}
