/*
 * Programs misuse contexts. They close one twice, out of order, on another thread or never. They
 * pass null or objects that throw, nest too deep, or create too many. None of this may harm the
 * program, and no work may appear under a context that it does not belong to. At worst it appears
 * under the outer context or none. The report counts the contexts that exceed the limit.
 *
 * @test
 * @summary misused contexts neither harm the program nor give a sample a wrong context
 * @key newest
 * @library /lib /api/src
 * @build dev.vouch.test.* dev.vouch.Vouch
 * @run main/timeout=200 Misuse
 */

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.Map;

import dev.vouch.Label;
import dev.vouch.Scope;
import dev.vouch.Vouch;
import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.Vm;

public class Misuse {
    private static final int MANY = 150_000;
    /** How many contexts the agent distinguishes. */
    private static final int MOST = 1 << 16;

    public static void main(String[] args) {
        Map<String, String> expected = new LinkedHashMap<>();
        expected.put("closedTwice", null);
        expected.put("closedTwiceInside", "b");
        expected.put("outerClosedFirst", null);
        expected.put("innerClosedLast", null);
        expected.put("closedByAnother", "a");
        expected.put("whoClosedIt", "c");
        expected.put("afterOneThatNeverCloses", null);
        expected.put("nothing", "b");
        expected.put("throwing", "b");
        expected.put("withoutEquals", "d");
        expected.put("tooDeep", "63");
        expected.put("afterTooDeep", null);
        expected.put("tooMany", "b");
        expected.put("afterTooMany", "a");
        Run run = Vm.with("verbose,interval=1ms").run(Program.class).ok();
        long left = run.report().json.getAsJsonObject("contexts").get("left_out").getAsLong();
        Check.between(MANY - MOST, left, MANY, "contexts that found no room");
        Check.contains(String.join("\n", run.vouchLines()), " contexts were left out", "summary");
        for (Map.Entry<String, String> one : expected.entrySet()) {
            String function = "Misuse$Program." + one.getKey();
            long seen = 0;
            for (Sample sample : run.profile().samples()) {
                if (sample.leaf().holds() && sample.has(function)) {
                    Check.equal(one.getValue(), sample.says("name"), one.getKey() + ": name in " + sample);
                    seen++;
                }
            }
            Check.that(seen > 0, "no sample of " + one.getKey());
        }
    }

    static final class Named {
        @Label("name")
        private final String name;

        Named(String name) {
            this.name = name;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Named && ((Named) other).name.equals(name);
        }

        @Override
        public int hashCode() {
            return name.hashCode();
        }
    }

    /** Two objects with equal labels are one context, even without equals(). */
    static final class WithoutEquals {
        @Label("name")
        private final String name = "d";
    }

    static final class Throwing {
        private final boolean early;

        Throwing(boolean early) {
            this.early = early;
        }

        @Override
        public boolean equals(Object other) {
            return this == other;
        }

        @Override
        public int hashCode() {
            if (early) {
                throw new IllegalStateException("no hash");
            }
            return 1;
        }

        @Override
        public String toString() {
            throw new IllegalStateException("no text");
        }
    }

    static class Program {
        private static final Named A = new Named("a");
        private static final Named B = new Named("b");

        public static void main(String[] args) throws InterruptedException {
            Burn.millis(1);
            Scope a = Vouch.with(A);
            a.close();
            a.close();
            closedTwice();
            try (Scope b = Vouch.with(B)) {
                Scope inside = Vouch.with(A);
                inside.close();
                inside.close();
                closedTwiceInside();
            }
            Scope outer = Vouch.with(B);
            Scope inner = Vouch.with(A);
            outer.close();
            outerClosedFirst();
            inner.close();
            innerClosedLast();
            try (Scope mine = Vouch.with(A)) {
                on(new Closing(mine));
                closedByAnother();
            }
            on(new Leaving());
            on(new Coming());
            odd();
            deep();
            many();
        }

        private static void odd() {
            try (Scope b = Vouch.with(B)) {
                try (Scope none = Vouch.with(null)) {
                    nothing();
                }
                try (Scope one = Vouch.with(new Throwing(true)); Scope other = Vouch.with(new Throwing(false))) {
                    throwing();
                }
                for (int i = 0; i < 1_000; i++) {
                    Vouch.with(new WithoutEquals()).close();
                }
                try (Scope d = Vouch.with(new WithoutEquals())) {
                    withoutEquals();
                }
            }
        }

        private static void deep() {
            Deque<Scope> scopes = new ArrayDeque<>();
            for (int i = 0; i < 100; i++) {
                scopes.push(Vouch.with(new Named(Integer.toString(i))));
            }
            tooDeep();
            while (!scopes.isEmpty()) {
                scopes.pop().close();
            }
            afterTooDeep();
        }

        private static void many() {
            try (Scope b = Vouch.with(B)) {
                for (int i = 0; i < MANY; i++) {
                    Vouch.with(new Named("value " + i)).close();
                }
                try (Scope one = Vouch.with(new Named("one too many"))) {
                    tooMany();
                }
            }
            try (Scope a = Vouch.with(A)) {
                afterTooMany();
            }
        }

        private static void on(Runnable work) throws InterruptedException {
            Thread thread = new Thread(work);
            thread.start();
            thread.join();
        }

        static final class Closing implements Runnable {
            private final Scope theirs;

            Closing(Scope theirs) {
                this.theirs = theirs;
            }

            @Override
            public void run() {
                try (Scope c = Vouch.with(new Named("c"))) {
                    theirs.close();
                    whoClosedIt();
                }
            }
        }

        static final class Leaving implements Runnable {
            @Override
            public void run() {
                Vouch.with(A);
            }
        }

        static final class Coming implements Runnable {
            @Override
            public void run() {
                // This thread may reuse the thread context of the one that exited.
                Vouch.with(B).close();
                afterOneThatNeverCloses();
            }
        }

        private static void closedTwice() {
            Burn.millis(30);
        }

        private static void closedTwiceInside() {
            Burn.millis(30);
        }

        private static void outerClosedFirst() {
            Burn.millis(30);
        }

        private static void innerClosedLast() {
            Burn.millis(30);
        }

        private static void closedByAnother() {
            Burn.millis(30);
        }

        private static void whoClosedIt() {
            Burn.millis(30);
        }

        private static void afterOneThatNeverCloses() {
            Burn.millis(30);
        }

        private static void nothing() {
            Burn.millis(30);
        }

        private static void throwing() {
            Burn.millis(30);
        }

        private static void withoutEquals() {
            Burn.millis(30);
        }

        private static void tooDeep() {
            Burn.millis(30);
        }

        private static void afterTooDeep() {
            Burn.millis(30);
        }

        private static void tooMany() {
            Burn.millis(30);
        }

        private static void afterTooMany() {
            Burn.millis(30);
        }
    }
}
