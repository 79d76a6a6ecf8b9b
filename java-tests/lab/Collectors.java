/*
 * The same ordinary work under every collector. Questions come at a deep stack, amid garbage, after
 * a collection, and while another thread allocates at full speed. Collectors may differ in their
 * barriers and in how they treat frames.
 *
 * @test
 * @summary the same work under each collector of the JDK
 * @library /lib
 * @build dev.vouch.test.* dev.vouch.lab.* dev.vouch.Oracle
 * @run main/timeout=300 Collectors
 */

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import dev.vouch.lab.Ask;
import dev.vouch.lab.Lab;
import dev.vouch.lab.Mode;
import dev.vouch.lab.Scenario;

public class Collectors extends Scenario {
    private static final int LEVELS = 300;
    private static final int WARM = 100;
    private static final int ROUNDS = 10;
    /** How many objects the greedy thread allocates: fewer than fit into Epsilon's heap. */
    private static final int GREED = 50_000;
    private static final int PIECE = 1000;

    private static Object kept;

    public static void main(String[] args) throws Throwable {
        Lab.main(new Collectors(), args);
    }

    @Override
    protected String[] cases() {
        return new String[] {"serial", "parallel", "g1", "z", "z-generational", "shenandoah", "shenandoah-generational", "cms", "epsilon"};
    }

    @Override
    protected String unfit(String name, int jdk, Mode mode) {
        switch (name) {
            case "z":
                return jdk < 11 ? "Z came with JDK 11" : null;
            case "z-generational":
                return jdk < 21 || jdk > 23 ? "it is a choice on JDKs 21 to 23" : null;
            case "shenandoah-generational":
                return jdk < 24 ? "it came with JDK 24" : null;
            case "cms":
                return jdk > 13 ? "CMS went with JDK 14" : null;
            case "epsilon":
                return jdk < 11 ? "Epsilon came with JDK 11" : null;
            default:
                return null;
        }
    }

    @Override
    protected String[] flags(String name) {
        List<String> flags = new ArrayList<>(Arrays.asList("-XX:+UnlockExperimentalVMOptions", "-Xmx400m"));
        flags.addAll(Arrays.asList(collector(name)));
        return flags.toArray(new String[0]);
    }

    private static String[] collector(String name) {
        switch (name) {
            case "serial":
                return new String[] {"-XX:+UseSerialGC"};
            case "parallel":
                return new String[] {"-XX:+UseParallelGC"};
            case "g1":
                return new String[] {"-XX:+UseG1GC"};
            case "z":
                return new String[] {"-XX:+UseZGC"};
            case "z-generational":
                return new String[] {"-XX:+UseZGC", "-XX:+ZGenerational"};
            case "shenandoah":
                return new String[] {"-XX:+UseShenandoahGC"};
            case "shenandoah-generational":
                return new String[] {"-XX:+UseShenandoahGC", "-XX:ShenandoahGCMode=generational"};
            case "cms":
                return new String[] {"-XX:+UseConcMarkSweepGC"};
            case "epsilon":
                return new String[] {"-XX:+UseEpsilonGC"};
            default:
                throw new AssertionError(name);
        }
    }

    @Override
    protected void run(String name) throws Throwable {
        Ask.unarmed();
        for (int i = 0; i < WARM; i++) {
            descend(LEVELS, new HashMap<String, byte[]>());
        }
        Ask.armed();
        Ask.truth(wholeStack());
        Thread greedy = new Thread(new Greedy());
        greedy.start();
        for (int i = 0; i < ROUNDS; i++) {
            descend(LEVELS, new HashMap<String, byte[]>());
            if (i % 5 == 0) {
                System.gc();
            }
        }
        greedy.join();
        kept = null;
        System.gc();
        descend(LEVELS, new HashMap<String, byte[]>());
    }

    private static String[] wholeStack() {
        List<String> stack = new ArrayList<>(Collections.nCopies(LEVELS + 1, "Collectors.descend"));
        stack.add(0, "Ask.here");
        stack.addAll(Arrays.asList("Collectors.run", "Collectors.main"));
        return stack.toArray(new String[0]);
    }

    private static int descend(int left, Map<String, byte[]> garbage) {
        garbage.put(Integer.toString(left), new byte[10]);
        if (left == 0) {
            Ask.here();
            return garbage.size();
        }
        return descend(left - 1, garbage) + garbage.size();
    }

    /** Keeps some of its objects alive, so that a collector has something to move. */
    static final class Greedy implements Runnable {
        @Override
        public void run() {
            Object[] some = new Object[PIECE];
            for (int i = 0; i < GREED; i++) {
                some[i % PIECE] = new byte[PIECE];
                kept = some;
            }
        }
    }
}
