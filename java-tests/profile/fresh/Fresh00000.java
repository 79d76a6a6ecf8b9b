package fresh;

import dev.vouch.test.Burn;

/** The pattern of many classes. The digits in its names are replaced in the class file. */
public class Fresh00000 implements Runnable {
    @Override
    public void run() {
        spin00000();
    }

    private static void spin00000() {
        Burn.millis(Spinner.CLASS_MS);
    }
}
