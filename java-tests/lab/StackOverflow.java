/*
 * Threads with a small stack recurse until it overflows. Questions come shortly before that, in a
 * handler and a finally block near the end, and in a handler far from it. The distance from the end
 * is a share of the levels, so it is the same for every frame size. The question itself must still
 * fit.
 *
 * @test
 * @summary questions close to the guard pages, and after them
 * @library /lib
 * @build dev.vouch.test.* dev.vouch.lab.* dev.vouch.Oracle
 * @run main/timeout=300 StackOverflow
 */

import dev.vouch.lab.Ask;
import dev.vouch.lab.Lab;
import dev.vouch.lab.Mode;
import dev.vouch.lab.Scenario;

public class StackOverflow extends Scenario {
    /**
     * In bytes: small, so that the answers are short. It includes the guard pages and the JVM's
     * reserve.
     */
    private static final long STACK = 400 << 10;
    /** More frames than the stack can hold. */
    private static final int DEEP = 20_000;
    /** One level in this many is reserved for the question. */
    private static final int SHARE = 12;
    /** How many overflows a warm case causes first: enough for C2 to compile the method. */
    private static final int WARM = 60;

    public static void main(String[] args) throws Throwable {
        Lab.main(new StackOverflow(), args);
    }

    @Override
    protected String[] cases() {
        return new String[] {"before-cold", "before-warm", "caught-cold", "caught-warm", "finally-cold", "finally-warm",
            "after-cold", "after-warm"};
    }

    @Override
    protected String[] flags(String name) {
        return new String[] {"-XX:+PrintCompilation"};
    }

    @Override
    protected String unfit(String name, int jdk, Mode mode) {
        return name.endsWith("warm") && !mode.compiles() ? "nothing is compiled" : null;
    }

    @Override
    protected void run(String name) throws Throwable {
        Overflows overflows = overflows(name.substring(0, name.lastIndexOf('-')));
        int times = name.endsWith("warm") ? WARM : 1;
        Thread thread = new Thread(null, new Repeats(overflows, times), name, STACK);
        thread.start();
        thread.join();
        if (times > 1) {
            Ask.needs(" [14] +StackOverflow\\$" + overflows.getClass().getSimpleName() + "::down \\(\\d+ bytes\\)$");
        }
    }

    /** Creates the case, and declares what must be on the stack. */
    private static Overflows overflows(String what) {
        switch (what) {
            case "before":
                Ask.truth("Ask.here", "Before.down", "Before.down", "Before.down", "Before.overflow", "Repeats.run", "Thread.run");
                return new Before();
            case "caught":
                Ask.truth("Ask.here", "Caught.down", "Caught.down", "Caught.down", "Caught.overflow", "Repeats.run", "Thread.run");
                return new Caught();
            case "finally":
                Ask.truth("Ask.here", "Finally.down", "Finally.down", "Finally.down", "Finally.overflow", "Repeats.run", "Thread.run");
                return new Finally();
            case "after":
                Ask.truth("Ask.here", "After.overflow", "Repeats.run", "Thread.run");
                return new After();
            default:
                throw new AssertionError(what);
        }
    }

    /** Overflows `times` times without asking, and once more with the question. */
    static final class Repeats implements Runnable {
        private final Overflows overflows;
        private final int times;

        Repeats(Overflows overflows, int times) {
            this.overflows = overflows;
            this.times = times;
        }

        @Override
        public void run() {
            Ask.unarmed();
            // Loads the classes that a question needs, since they would not load near the end of
            // the stack.
            Ask.here();
            for (int i = 0; i < times; i++) {
                overflows.overflow();
            }
            Ask.armed(DEEP);
            overflows.overflow();
            Ask.trigger(overflows.overflown > times, "the stack did not overflow each time");
        }
    }

    abstract static class Overflows {
        int overflown;
        /** How many levels the stack had when it overflowed. */
        int deepest;

        abstract void overflow();

        /** How many levels leave enough stack for the question. */
        final int roomy() {
            return deepest - deepest / SHARE;
        }
    }

    /** Measures how deep it can recurse, and then recurses nearly as deep. */
    static final class Before extends Overflows {
        private int bottom;

        @Override
        void overflow() {
            bottom = Integer.MAX_VALUE;
            try {
                down(1, 1, 2, 3, 4, 5, 6, 7, 8);
            } catch (StackOverflowError meant) {
                overflown++;
            }
            bottom = roomy();
            down(1, 1, 2, 3, 4, 5, 6, 7, 8);
        }

        private long down(int level, long a, long b, long c, long d, long e, long f, long g, long h) {
            if (level == bottom) {
                Ask.here();
                return a;
            }
            if (bottom == Integer.MAX_VALUE) {
                deepest = level;
            }
            return down(level + 1, b, c, d, e, f, g, h, a) + a + b + c + d + e + f + g + h;
        }
    }

    /** Each level handles the error and throws it on. */
    static final class Caught extends Overflows {
        @Override
        void overflow() {
            try {
                down(1, 1, 2, 3, 4, 5, 6, 7, 8);
            } catch (StackOverflowError meant) {
                overflown++;
            }
        }

        private long down(int level, long a, long b, long c, long d, long e, long f, long g, long h) {
            deepest = level;
            try {
                return down(level + 1, b, c, d, e, f, g, h, a) + a + b + c + d + e + f + g + h;
            } catch (StackOverflowError meant) {
                if (level == roomy()) {
                    Ask.here();
                }
                throw meant;
            }
        }
    }

    /** The error unwinds each level. */
    static final class Finally extends Overflows {
        @Override
        void overflow() {
            try {
                down(1, 1, 2, 3, 4, 5, 6, 7, 8);
            } catch (StackOverflowError meant) {
                overflown++;
            }
        }

        private long down(int level, long a, long b, long c, long d, long e, long f, long g, long h) {
            deepest = level;
            try {
                return down(level + 1, b, c, d, e, f, g, h, a) + a + b + c + d + e + f + g + h;
            } finally {
                if (level == roomy()) {
                    Ask.here();
                }
            }
        }
    }

    /** The outermost method handles the error. */
    static final class After extends Overflows {
        @Override
        void overflow() {
            try {
                down(1, 1, 2, 3, 4, 5, 6, 7, 8);
            } catch (StackOverflowError meant) {
                overflown++;
                Ask.here();
            }
        }

        private long down(int level, long a, long b, long c, long d, long e, long f, long g, long h) {
            return down(level + 1, b, c, d, e, f, g, h, a) + a + b + c + d + e + f + g + h;
        }
    }
}
