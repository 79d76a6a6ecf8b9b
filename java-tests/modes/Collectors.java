/*
 * Runs under every collector of the JDK, and under memory settings that change object and class
 * pointers. A profiler that reads the JVM's memory could crash any of them. The agent must change
 * nothing but the speed.
 *
 * @test
 * @summary all collectors, heaps and pointer sizes: the program works, and its threads are sampled
 * @library /lib
 * @build dev.vouch.test.*
 * @run main Collectors
 */

import java.util.ArrayList;
import java.util.List;

import dev.vouch.test.Check;
import dev.vouch.test.Mark;
import dev.vouch.test.Run;
import dev.vouch.test.Vm;

public class Collectors {
    private static final List<String> RAN = new ArrayList<>();

    public static void main(String[] args) {
        run(true, "-XX:+UseSerialGC", "-Xmx64m");
        run(true, "-XX:+UseParallelGC", "-Xmx64m");
        run(true, "-XX:+UseG1GC", "-Xmx64m");
        run(true, "-XX:+UseZGC", "-Xmx64m");
        if (Vm.major() < 24) {
            // Later JDKs have no other ZGC.
            run(true, "-XX:+UseZGC", "-XX:+ZGenerational", "-Xmx64m");
        }
        run(true, "-XX:+UseShenandoahGC", "-Xmx64m");
        run(true, "-XX:+UseConcMarkSweepGC", "-Xmx64m");
        run(false, "-XX:+UseEpsilonGC", "-Xmx1g");
        Check.atLeast(3, RAN.size(), "collectors that this JDK has: " + RAN);
        System.out.println("ran: " + RAN);

        run(true, "-Xmx12m", "-Xms12m");
        run(false, "-Xms2g", "-Xmx2g");
        run(true, "-XX:-UseCompressedOops", "-Xmx64m");
        run(true, "-XX:-UseCompressedClassPointers", "-Xmx64m");
        run(true, "-XX:+UseCompactObjectHeaders", "-Xmx64m");
    }

    private static void run(boolean collects, String... flags) {
        Vm vm = Vm.with("interval=1ms").flags("-XX:+UnlockExperimentalVMOptions");
        for (String flag : flags) {
            vm = flag.matches("-XX:\\+Use\\w+GC") ? vm.collector(flag) : vm.flags(flag);
        }
        Run run = Mix.profiled(vm, Mix.class);
        if (run == null) {
            System.out.println("not known here: " + flags[0]);
            return;
        }
        RAN.add(flags[0]);
        Check.that(!collects || run.value("collected").equals("true"), "nothing was collected under " + flags[0]);
        if (collects) {
            List<Mark> pauses = run.profile().marks("gc_pause");
            Check.atLeast(1, pauses.size(), "pauses for the collector under " + flags[0]);
            for (Mark pause : pauses) {
                Check.that(!pause.data.get("reason").isJsonNull() && !pause.text("reason").equals("No GC"), "it is said what for: " + pause);
            }
        }
    }
}
