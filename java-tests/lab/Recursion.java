/*
 * Recursion of one method, of two in turn, of a virtual one, and of compiled and interpreted frames
 * in turn. Each is shallow, deep, exactly as deep as the limit, and one frame deeper. Only the last
 * is cut, and that proves that the case before it reached the limit exactly.
 *
 * @test
 * @summary recursion up to and past the depth limit
 * @library /lib
 * @build dev.vouch.test.* dev.vouch.lab.* dev.vouch.Oracle
 * @run main/timeout=300 Recursion
 */

import java.util.ArrayList;
import java.util.List;

import dev.vouch.lab.Ask;
import dev.vouch.lab.Lab;
import dev.vouch.lab.Mode;
import dev.vouch.lab.Route;
import dev.vouch.lab.Scenario;

public class Recursion extends Scenario {
    private static final String[] SHAPES = {"static", "mutual", "virtual", "mixed"};
    private static final String[] DEPTHS = {"10", "900", "exact", "cut"};

    /** How many levels the cases at the limit have. */
    private static final int SOME = 150;

    public static void main(String[] args) throws Throwable {
        Lab.main(new Recursion(), args);
    }

    @Override
    protected String[] cases() {
        List<String> cases = new ArrayList<>();
        for (String shape : SHAPES) {
            for (String depth : DEPTHS) {
                cases.add(shape + "-" + depth + "-cold");
                cases.add(shape + "-" + depth + "-warm");
            }
        }
        return cases.toArray(new String[0]);
    }

    @Override
    protected String[] flags(String name) {
        return new String[] {"-XX:+PrintCompilation", "-XX:CompileCommand=exclude,Recursion$Mixed::interpreted",
            "-XX:CompileCommand=dontinline,Recursion*::go"};
    }

    @Override
    protected String unfit(String name, int jdk, Mode mode) {
        return name.endsWith("warm") && !mode.compiles() ? "nothing is compiled" : null;
    }

    @Override
    protected void run(String name) throws Throwable {
        String[] words = name.split("-");
        boolean limited = words[1].equals("exact") || words[1].equals("cut");
        int levels = limited ? SOME : Integer.parseInt(words[1]);
        Recursive route = route(words[0], levels);
        if (limited) {
            // On top of this method's frame are: warm or cold, go, the recursion, Ask.here and
            // Oracle.self.
            int frames = new Throwable().getStackTrace().length + 2 + levels + 2;
            route.limit = words[1].equals("exact") ? frames : frames - 1;
        }
        truth(route, words[0]);
        if (words[2].equals("warm")) {
            compiled(words[0]);
            route.warm();
        } else {
            route.ready();
            route.cold();
        }
    }

    private static Recursive route(String shape, int levels) {
        switch (shape) {
            case "static": return new Static(levels);
            case "mutual": return new Mutual(levels);
            case "virtual": return new Virtual(levels);
            case "mixed": return new Mixed(levels);
            default: throw new AssertionError(shape);
        }
    }

    /** Declares the name of every level. */
    private static void truth(Recursive route, String shape) {
        List<String> frames = new ArrayList<>();
        frames.add("Ask.here");
        String[] turns = turns(shape);
        for (int i = 0; i < route.levels; i++) {
            frames.add(turns[i % turns.length]);
        }
        frames.add(route.getClass().getSimpleName() + ".go");
        frames.add("Recursion.run");
        frames.add("Recursion.main");
        Ask.truth(frames.toArray(new String[0]));
    }

    /**
     * The methods that alternate, leaf first. All numbers of levels are even, and `go` calls the
     * last one.
     */
    private static String[] turns(String shape) {
        switch (shape) {
            case "static": return new String[] {"Static.down"};
            case "mutual": return new String[] {"Mutual.right", "Mutual.left"};
            case "virtual": return new String[] {"Even.down", "Odd.down"};
            case "mixed": return new String[] {"Mixed.compiled", "Mixed.interpreted"};
            default: throw new AssertionError(shape);
        }
    }

    /** The method that `go` calls must be compiled; the other may be inlined in it. */
    private static void compiled(String shape) {
        String[] turns = turns(shape);
        String first = turns[turns.length - 1];
        boolean excluded = first.equals("Mixed.interpreted");
        String method = excluded ? turns[0] : first;
        Ask.needs(" [14] +Recursion\\$" + method.replace(".", "::") + " \\(\\d+ bytes\\)$");
        if (excluded) {
            Ask.needs("(excluded|not compilable).* Recursion\\$Mixed::interpreted");
        }
    }

    /** Exactly `levels` frames must be between `go` and the question. */
    abstract static class Recursive extends Route {
        final int levels;
        int limit = Ask.DEEP;

        Recursive(int levels) {
            this.levels = levels;
        }

        @Override
        protected final void ready() {
            Ask.armed(limit);
        }
    }

    static final class Static extends Recursive {
        Static(int levels) {
            super(levels);
        }

        @Override
        protected void go() {
            down(levels);
        }

        static void down(int left) {
            if (left > 1) {
                down(left - 1);
            } else {
                Ask.here();
            }
        }
    }

    static final class Mutual extends Recursive {
        Mutual(int levels) {
            super(levels);
        }

        @Override
        protected void go() {
            left(levels);
        }

        static void left(int left) {
            right(left - 1);
        }

        static void right(int left) {
            if (left > 1) {
                left(left - 1);
            } else {
                Ask.here();
            }
        }
    }

    static final class Virtual extends Recursive {
        private final Level first = new Odd(new Even());

        Virtual(int levels) {
            super(levels);
        }

        @Override
        protected void go() {
            first.down(levels);
        }
    }

    abstract static class Level {
        abstract void down(int left);
    }

    static final class Odd extends Level {
        private final Even other;

        Odd(Even other) {
            this.other = other;
            other.other = this;
        }

        @Override
        void down(int left) {
            ((Level) other).down(left - 1);
        }
    }

    static final class Even extends Level {
        private Level other;

        @Override
        void down(int left) {
            if (left > 1) {
                other.down(left - 1);
            } else {
                Ask.here();
            }
        }
    }

    /** One of its two methods is excluded from compilation. */
    static final class Mixed extends Recursive {
        Mixed(int levels) {
            super(levels);
        }

        @Override
        protected void go() {
            interpreted(levels);
        }

        static void interpreted(int left) {
            compiled(left - 1);
        }

        static void compiled(int left) {
            if (left > 1) {
                interpreted(left - 1);
            } else {
                Ask.here();
            }
        }
    }
}
