package dev.vouch.lab;

/**
 * What a case calls while it has its callers compiled.
 *
 * A call that met all four of {@link #anything} is compiled as one about whose receiver nothing is known. So the fifth
 * kind of receiver, the one that asks, springs no trap that would deoptimise the callers.
 */
public final class Warm {
    /** Enough for every compiler. */
    public static final int TIMES = 20_000;

    private static final Runnable[] ALL = {new First(), new Second(), new Third(), new Fourth()};

    private Warm() {}

    /** Something that does nothing: for each turn another. */
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
