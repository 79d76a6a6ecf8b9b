/*
 * A program counts the exceptions that it creates of each class. One class is rare. Two are so
 * frequent that a part of them is recorded, which has to stand for all.
 *
 * @test
 * @summary exceptions by class are within 5 % in top, flame, folded, pprof and html
 * @key newest lts waits
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=240 ExceptionCounts
 */

import com.google.gson.JsonObject;

import dev.vouch.test.Check;
import dev.vouch.test.MeasureViews;
import dev.vouch.test.Run;
import dev.vouch.test.Vm;

public class ExceptionCounts {
    private static final double NEAR = 0.05;
    private static final int TICKS = 12_000;
    private static final int[] IN_A_TICK = {6, 18};
    /** The rare one comes first and alone, so that each is recorded. */
    private static final int RARE = 300;

    public static void main(String[] args) throws Exception {
        Run run = Vm.with("events=exception,measure=exception,out=a.folded,out=a.html,out=a.pb.gz").run(Program.class).ok();
        MeasureViews views = new MeasureViews(run, "exception", "events", 1);
        views.check("ExceptionCounts$Rare", RARE, NEAR);
        views.check("ExceptionCounts$Common", (double) TICKS * IN_A_TICK[0], NEAR);
        views.check("ExceptionCounts$Frequent", (double) TICKS * IN_A_TICK[1], NEAR);
        JsonObject exact = run.report().json.getAsJsonObject("exact_totals").getAsJsonObject("exception");
        JsonObject sampled = run.report().json.getAsJsonObject("measures").getAsJsonObject("exception");
        double all = RARE + TICKS * (double) (IN_A_TICK[0] + IN_A_TICK[1]);
        Check.near(all, exact.get("amount").getAsDouble(), 0.01 * all, "the exact number");
        Check.near(all, sampled.get("amount").getAsDouble(), 0.02 * all, "what the samples stand for");
        Check.that(sampled.get("samples").getAsDouble() < all / 4, "a part is recorded: " + sampled);
    }

    static class Rare extends Exception {
        private static final long serialVersionUID = 1;
    }

    static class Common extends Exception {
        private static final long serialVersionUID = 1;
    }

    static class Frequent extends Exception {
        private static final long serialVersionUID = 1;
    }

    static class Program {
        static int caught;

        public static void main(String[] args) throws InterruptedException {
            for (int i = 0; i < RARE; i++) {
                caught(new Rare());
                Thread.sleep(2);
            }
            long began = System.nanoTime();
            for (int tick = 0; tick < TICKS; tick++) {
                for (int i = 0; i < IN_A_TICK[0]; i++) {
                    common();
                }
                for (int i = 0; i < IN_A_TICK[1]; i++) {
                    frequent();
                }
                while (System.nanoTime() - began < tick * 1_000_000L) {
                    Thread.sleep(1);
                }
            }
        }

        private static void common() {
            caught(new Common());
        }

        private static void frequent() {
            caught(new Frequent());
        }

        private static void caught(Exception thrown) {
            try {
                throw thrown;
            } catch (Exception expected) {
                caught++;
            }
        }
    }
}
