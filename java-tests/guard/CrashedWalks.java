/*
 * A walker may fault, since it interprets words of an interrupted stack as frames. Such a walk must
 * end, and the program must go on as if nothing had happened. A walker that is broken on purpose
 * faults in one walk of a hundred or in all, in four ways in turn. The program itself needs faults:
 * null checks, stack overflows, its own protected page, and a thread that blocks SIGSEGV. It also
 * has a signal handler that jumps away over interrupted code.
 *
 * @test
 * @summary a walk that faults ends, is counted, and the program's output is the same
 * @key lts
 * @library /lib
 * @build dev.vouch.test.* dev.vouch.lab.Ask dev.vouch.Oracle
 * @run main CrashedWalks
 */

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

import dev.vouch.Oracle;
import dev.vouch.lab.Ask;
import dev.vouch.test.Burn;
import dev.vouch.test.BurnUntilInput;
import dev.vouch.test.Check;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Scale;
import dev.vouch.test.Vm;

public class CrashedWalks {
    private static final int EVERY = 100;
    /** After this many faults in one recording Vouch stops walking. */
    private static final int MOST = 1000;
    /**
     * How long two threads burn after walking has stopped. That is enough for some samples, even if
     * signals come only at the kernel's ticks.
     */
    private static final String MORE_MS = "100";
    private static final String STOPPED = "[vouch] walking is stopped: ";
    /** How many questions, of two faulting walks each. */
    private static final int QUESTIONS = Scale.pick(3_000, 250_000);
    /** How many rounds of faults the program goes through. */
    private static final String ROUNDS = Integer.toString(Scale.pick(600, 2_000));

    private static String library;

    public static void main(String[] args) {
        library = Native.library().toString();
        Run without = Vm.without().run(Program.class, library, ROUNDS);
        Check.equal(23, without.exit, "exit code without the agent");
        Path jsig = jsig();
        // Recovery is off, since it would use the same walker, and every hundredth of its walks
        // would crash too.
        some(without, Vm.lab("interval=500us,recovery=off,break=crashed/" + EVERY).run(Program.class, library, ROUNDS));
        some(without, Vm.lab("interval=500us,recovery=off,break=crashed/" + EVERY).flags("-Xrs").env("LD_PRELOAD", jsig.toString())
            .run(Program.class, library, ROUNDS));
        try (Running child = Vm.lab("interval=1ms,break=crashed").start(Burning.class, MORE_MS)) {
            // The program burns until walking has stopped, however often the engine signals.
            child.awaitErr(STOPPED);
            child.stdin().println();
            all(child.waitFor());
        }
        // Damaged stacks may make the true walkers fault.
        same(without, Vm.lab("interval=500us,walker=asgct,break=damaged/2").run(Program.class, library, ROUNDS));
        same(without, Vm.lab("interval=500us,walker=own,break=damaged/2").run(Program.class, library, ROUNDS));
        watched(Vm.with("").flags("-Xcheck:jni").run(Burning.class, MORE_MS));
        asked();
    }

    /** One walk of a hundred faults. */
    private static void some(Run without, Run run) {
        same(without, run);
        long walks = walks(run.report());
        long crashed = run.report().unwalkedCodes().getOrDefault("crashed", 0L);
        Check.atLeast(EVERY, walks, "walks, or none of them had to crash");
        // Samples that were dropped, or had no frame to show, were walked too.
        long unseen = run.report().samples("dropped") + run.report().samples("outside");
        Check.between(Math.floor((double) walks / EVERY), crashed, Math.ceil((double) (walks + unseen) / EVERY), "crashed walks");
        told(run, crashed + " walks faulted and were ended: ");
    }

    /** Every walk faults, until walking is stopped. */
    private static void all(Run run) {
        run.ok();
        Map<String, Long> codes = run.report().unwalkedCodes();
        long crashed = codes.getOrDefault("crashed", 0L);
        // Some walks began on other threads before the last crash, and still fault.
        Check.between(MOST, crashed + run.report().samples("dropped"), MOST + 64, "crashed walks");
        Check.atLeast(1, codes.getOrDefault("stopped", 0L), "samples that came when walking had been stopped");
        told(run, "walks faulted and were ended, so walking was stopped: ");
        long said = run.err.stream().filter(line -> line.startsWith(STOPPED)).count();
        Check.equal(1, said, "lines that say at once that walking is stopped, of " + run.err);
    }

    /**
     * Under -Xcheck:jni the JVM warns about foreign signal handlers. So the agent installs no guard
     * there, and the report says so.
     */
    private static void watched(Run run) {
        run.ok();
        told(run, "walks are not guarded, and one that faults ends the JVM: with -Xcheck:jni ");
        Check.that(run.out.stream().noneMatch(line -> line.contains("handler")), "the JVM complains: " + run.out);
    }

    /** Asks as many questions as the time allows; each walk must have crashed. */
    private static void asked() {
        String path = "-Djava.library.path=" + Vm.labAgent().getParent();
        Run run = Vm.lab("lab").noFiles().flags(path).run(Asking.class, Integer.toString(QUESTIONS)).ok();
        Check.equal(2L * QUESTIONS, run.number("crashed"), "crashed walks");
        Check.equal("direct same;signal same;own-direct same;own-signal same", run.value("mended"), "a walk after all that");
    }

    private static void same(Run without, Run run) {
        Check.equal(without.exit, run.exit, "exit code");
        Check.equal(without.out, run.out, "stdout");
        Check.equal(without.otherErr(), run.otherErr(), "stderr but for Vouch's own lines");
        run.report().checkConserved("main");
    }

    /** Samples for which a walker was called. These reasons of no stack need none. */
    private static long walks(Report report) {
        long walked = report.walked() + report.samples("unwalked");
        for (String reason : new String[] {"not_signalled", "passed_over", "thread_ended"}) {
            walked -= report.unwalkedCodes().getOrDefault(reason, 0L);
        }
        return walked;
    }

    private static void told(Run run, String part) {
        long notes = run.report().engineNotes().stream().filter(note -> note.contains(part)).count();
        Check.equal(1, notes, "notes with <" + part + "> of " + run.report().engineNotes());
    }

    private static Path jsig() {
        for (String place : new String[] {"lib/libjsig.so", "jre/lib/amd64/libjsig.so", "lib/amd64/libjsig.so"}) {
            if (Files.exists(Vm.jdk().resolve(place))) {
                return Vm.jdk().resolve(place);
            }
        }
        throw new AssertionError("this JDK has no libjsig.so");
    }

    static class Burning {
        public static void main(String[] args) throws Exception {
            BurnUntilInput.burn(2, Long.parseLong(args[0]), () -> Burn.millis(1));
        }
    }

    /** Provokes faults all the time, and prints the same in every run. */
    static class Program {
        private static int rounds;
        private static final int JUMPS = 100;

        public static void main(String[] args) throws InterruptedException {
            System.load(args[0]);
            rounds = Integer.parseInt(args[1]);
            System.out.println("SafeFetch answers: " + (Native.safeFetches() > 0));
            Native.handle();
            int[] sums = new int[2];
            Thread other = new Thread(() -> sums[1] = work(1));
            other.start();
            sums[0] = work(0);
            other.join();
            Native.burnBlocked(200);
            for (int i = 0; i < 5; i++) {
                System.out.println("jumps " + under(500, JUMPS));
                sums[0] += work(i);
            }
            System.out.println("sums " + sums[0] + " " + sums[1] + ", faults of its own " + Native.fault());
            System.exit(23);
        }

        private static int work(int seed) {
            int sum = seed;
            for (int i = 0; i < rounds; i++) {
                sum = 31 * sum + length(i % 2 == 0 ? null : "four") + (int) deep(i % 50);
                byte[] garbage = new byte[10_000];
                sum += garbage[i];
                if (i % 100 == 0) {
                    sum += overflow();
                }
                if (seed == 0 && i % 40 == 0) {
                    sum += Native.fault();
                }
            }
            return sum;
        }

        /** Recurses first, so that a walk takes long enough for a signal to interrupt it. */
        private static int under(int depth, int jumps) {
            return depth == 0 ? Native.jumpAway(jumps) : under(depth - 1, jumps) + depth % 2;
        }

        /** In compiled code the null check is a fault. */
        private static int length(String text) {
            try {
                return text.length();
            } catch (NullPointerException expected) {
                return 7;
            }
        }

        private static long deep(int depth) {
            return depth == 0 ? Burn.work(30_000) : deep(depth - 1) + depth;
        }

        private static int overflow() {
            try {
                return endless(0);
            } catch (StackOverflowError expected) {
                return 5;
            }
        }

        private static int endless(int depth) {
            return endless(depth + 1) + depth;
        }
    }

    static class Asking {
        public static void main(String[] args) {
            long crashed = 0;
            Oracle.breakWalker("crashed");
            for (int i = Integer.parseInt(args[0]); i > 0; i--) {
                String[] ways = Ask.heads(Oracle.self(100)).split(";");
                for (String way : ways) {
                    crashed += way.endsWith(" unwalked:crashed") ? 1 : 0;
                }
            }
            Oracle.breakWalker(null);
            System.out.println("crashed=" + crashed);
            System.out.println("mended=" + Ask.heads(Oracle.self(100)));
        }
    }
}
