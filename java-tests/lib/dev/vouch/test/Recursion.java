package dev.vouch.test;

/** Uses CPU time and allocates, in a method that is more than once in a stack. */
public final class Recursion {
    private static volatile Object kept;

    private Recursion() {}

    /** Burns 40 ms and allocates 16 MB, and so does each of this many calls of itself. */
    public static void work(int deeper) {
        Burn.millis(40);
        for (int at = 0; at < 2_000; at++) {
            kept = new byte[8_192];
        }
        if (deeper > 0) {
            work(deeper - 1);
        }
    }
}
