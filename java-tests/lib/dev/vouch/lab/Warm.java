package dev.vouch.lab;

/**
 * Provides the receivers that a case calls while its callers are compiled.
 *
 * A call site that saw all four of {@link #anything} is compiled as megamorphic. So the fifth
 * receiver type, which asks, hits no uncommon trap that would deoptimise the callers.
 */
public final class Warm {
    /** Exceeds every compiler's invocation threshold. */
    public static final int TIMES = 20_000;

    private static final Runnable[] ALL = {new First(), new Second(), new Third(), new Fourth()};

    private Warm() {}

    /** Returns a receiver that does nothing. Its type changes with each turn. */
    public static Runnable anything(int turn) {
        return ALL[turn % ALL.length];
    }

    private static final class First implements Runnable {
        @Override
        public void run() {}
    }

    private static final class Second implements Runnable {
        @Override
        public void run() {}
    }

    private static final class Third implements Runnable {
        @Override
        public void run() {}
    }

    private static final class Fourth implements Runnable {
        @Override
        public void run() {}
    }
}
