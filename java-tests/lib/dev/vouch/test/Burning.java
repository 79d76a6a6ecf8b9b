package dev.vouch.test;

/**
 * A program that only burns CPU: 150 ms in one method. It prints the CPU time and the elapsed time.
 */
public final class Burning {
    /** The method that burns, as a profile names it. */
    public static final String METHOD = "dev.vouch.test.Burning.burn";

    private Burning() {}

    public static void main(String[] args) {
        // The clock's own start is not part of the time.
        Burn.millis(1);
        long began = System.nanoTime();
        System.out.println("cpu_ms=" + burn() / 1_000_000);
        System.out.println("wall_ms=" + (System.nanoTime() - began) / 1_000_000);
    }

    private static long burn() {
        return Burn.millis(150);
    }
}
