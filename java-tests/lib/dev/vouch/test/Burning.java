package dev.vouch.test;

/**
 * A program for tests that need one that only burns: 150 ms of CPU time in one method, which it
 * prints, with how long that took.
 */
public final class Burning {
    /** The method that burns, as a profile names it. */
    public static final String METHOD = "dev.vouch.test.Burning.burn";

    private Burning() {}

    public static void main(String[] args) {
        // What the clock itself needs to start is not part of it.
        Burn.millis(1);
        long began = System.nanoTime();
        System.out.println("cpu_ms=" + burn() / 1_000_000);
        System.out.println("wall_ms=" + (System.nanoTime() - began) / 1_000_000);
    }

    private static long burn() {
        return Burn.millis(150);
    }
}
