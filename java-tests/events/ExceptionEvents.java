/*
 * A program throws a known number of exceptions, in compiled code and below deep stacks. All are
 * counted, and recording them must cost a limited amount of time.
 *
 * @test
 * @summary many exceptions: how many, how many are shown, and what they cost the program
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=300 ExceptionEvents
 */

import java.util.List;

import com.google.gson.JsonObject;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Mark;
import dev.vouch.test.Run;
import dev.vouch.test.Vm;

public class ExceptionEvents {
    private static final int WARM_UP = 10_000;
    private static final int MANY = 20_000;
    private static final int DEPTH = 64;
    private static final int FEW = 2_000;
    private static final int DEEP = 3_000;
    /** How many events of one kind are shown in a second. */
    private static final int MOST_IN_A_SECOND = 1_000;
    /** With JVMTI's own event an exception would cost fifty times as much as without. */
    private static final double DEAREST = 5;

    public static void main(String[] args) {
        Run without = Vm.without().flags("-Xss16m").run(Program.class).ok();
        Run run = Vm.with("events=exception").flags("-Xss16m").run(Program.class).ok();
        counted(run);
        shown(run);
        double share = (double) run.number("many") / without.number("many");
        Check.between(0, share, DEAREST, "CPU time of an exception, in that without an agent");
    }

    private static void counted(Run run) {
        JsonObject told = run.report().json.getAsJsonObject("events").getAsJsonObject("exception");
        long count = told.get("count").getAsLong();
        long shown = told.get("shown").getAsLong();
        long leftOut = told.get("left_out").getAsLong();
        long own = WARM_UP + MANY + FEW + 2;
        // The JVM throws a few itself when it starts.
        Check.between(own, count, own + 200, "exceptions that were made");
        Check.equal(count, shown + leftOut, "those that are shown, and those that are left out");
        Check.between(1, shown, MOST_IN_A_SECOND * (2 + run.report().wallMs() / 1_000), "those that are shown");
        Check.that(run.report().engineNotes().stream().anyMatch(note -> note.contains("of events=exception")),
            "a note has what is left out: " + run.report().engineNotes());
        // One such deep stack takes a good part of a millisecond to record.
        Check.atMost(FEW / 2, run.profile().marks("exception", "class", "ExceptionEvents$Deep").size(), "exceptions at deep stacks that are shown");
    }

    private static void shown(Run run) {
        List<Mark> oops = run.profile().marks("exception", "class", "ExceptionEvents$Oops");
        Check.atLeast(1, oops.size(), "exceptions of the program's class");
        for (Mark mark : oops) {
            Check.equal("ExceptionEvents$Program.fall", mark.stack.leaf().function, "where it was made");
        }
        for (String made : new String[] {"java.lang.NullPointerException", "java.lang.ArrayIndexOutOfBoundsException"}) {
            Mark mark = run.profile().marks("exception", "class", made).get(0);
            Check.that(mark.has("ExceptionEvents$Program.byTheJvm") && !mark.has(made + ".<init>"), "where the JVM made it: " + mark.stack.functions());
        }
    }

    static class Oops extends RuntimeException {
        Oops() {
            this("oops");
        }

        Oops(String message) {
            super(message);
        }
    }

    static class Deep extends RuntimeException {
    }

    static class Program {
        static int[] array = new int[1];
        static int sink;

        public static void main(String[] args) throws Exception {
            byTheJvm(1);
            array = null;
            byTheJvm(0);
            Thread.sleep(1_100);
            thrown(WARM_UP);
            long begin = Burn.cpuNanos();
            thrown(MANY);
            System.out.println("many=" + (Burn.cpuNanos() - begin));
            Thread.sleep(1_100);
            for (int i = 0; i < FEW; i++) {
                try {
                    fall(DEEP, true);
                } catch (Deep deep) {
                    sink++;
                }
            }
        }

        private static void byTheJvm(int index) {
            try {
                sink += array[index];
            } catch (NullPointerException | ArrayIndexOutOfBoundsException thrown) {
                sink++;
            }
        }

        private static void thrown(int times) {
            for (int i = 0; i < times; i++) {
                try {
                    fall(DEPTH, false);
                } catch (Oops oops) {
                    sink++;
                }
            }
        }

        private static void fall(int depth, boolean deep) {
            if (depth > 0) {
                fall(depth - 1, deep);
                sink++;
            } else if (!deep) {
                throw new Oops();
            } else {
                throw new Deep();
            }
        }
    }
}
