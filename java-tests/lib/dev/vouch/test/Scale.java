package dev.vouch.test;

/**
 * Selects how long a test may take: `VOUCH_SCALE=full` (or `-Dvouch.scale=full`) selects the long
 * forms.
 */
public final class Scale {
    private Scale() {}

    public static boolean isFull() {
        return "full".equals(System.getProperty("vouch.scale", System.getenv("VOUCH_SCALE")));
    }

    public static int pick(int ordinary, int full) {
        return isFull() ? full : ordinary;
    }
}
