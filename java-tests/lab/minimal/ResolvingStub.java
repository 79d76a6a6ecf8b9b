/*
 * The callers are missing where C1 code resolves and initialises a class
 *
 * A method compiled by C1 uses a class for the first time. It calls a runtime stub, which has the
 * class resolved and its initialiser run. The walk never accepts the frame of that stub as
 * complete, and ends there.
 *
 * Seen in: Initialisers.*
 * Shows: truncated on 11- of x86-64
 * Run: -XX:TieredStopAtLevel=1 -XX:-BackgroundCompilation
 */

import dev.vouch.Oracle;

public class ResolvingStub {
    static class Fresh {
        static int value;

        static {
            System.out.println(Oracle.self(100));
        }
    }

    static int touch(boolean really) {
        return really ? Fresh.value : 0;
    }

    public static void main(String[] args) {
        int sum = 0;
        for (int i = 0; i < 100_000; i++) {
            sum += touch(false);
        }
        System.out.println(sum + touch(true));
    }
}
