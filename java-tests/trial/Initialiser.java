/*
 * A class is initialised from compiled code, by way of the VM. AsyncGetCallTrace ends at the call
 * of the VM.
 *
 * Run: -XX:TieredStopAtLevel=1 -XX:-BackgroundCompilation
 */

public class Initialiser {
    static class Fresh {
        static int value;

        static {
            for (long end = System.nanoTime() + 2_000_000_000L; System.nanoTime() < end;) {
                value += 3;
            }
        }
    }

    static int touch(boolean really) {
        return really ? Fresh.value : 0;
    }

    public static void main(String[] args) {
        new Thread(() -> {
            int sum = 0;
            for (long end = System.nanoTime() + 100_000_000L; System.nanoTime() < end;) {
                sum += touch(false);
            }
            System.out.println(sum + touch(true));
        }).start();
    }
}
