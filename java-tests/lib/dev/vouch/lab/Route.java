package dev.vouch.lab;

import java.util.ArrayList;
import java.util.List;

/**
 * A call path to a question, run cold (at the JVM's first calls) or warm (after compilation).
 *
 * The warm-up calls reach a question that is not asked, so they compile every method on the path. A
 * route must do the same work in each run.
 */
public abstract class Route {
    /** Exceeds the invocation thresholds of C2. */
    private static final int CALLS = 25_000;

    /** Lets {@link #warm} check what was compiled, and compiles `go` as a separate nmethod. */
    private static final String[] WARM = {"-XX:+PrintCompilation", "-XX:CompileCommand=dontinline,*.go"};

    /**
     * Prevents compilation of methods that earlier cases or the JDK called too, except with -Xcomp.
     */
    private static final String[] COLD = {
        "-XX:Tier3InvocationThreshold=1000000", "-XX:Tier3MinInvocationThreshold=1000000",
        "-XX:Tier3CompileThreshold=1000000", "-XX:Tier3BackEdgeThreshold=100000000",
    };

    /** Calls {@link Ask#here} at the end of the path. */
    protected abstract void go() throws Throwable;

    /** Returns each case's name twice, with the suffixes -cold and -warm. */
    public static List<String> both(String... names) {
        List<String> both = new ArrayList<>();
        for (String name : names) {
            both.add(name + "-cold");
            both.add(name + "-warm");
        }
        return both;
    }

    /** Returns the JVM flags that this kind of run needs. */
    public static String[] flags(boolean warm) {
        return (warm ? WARM : COLD).clone();
    }

    /** Returns why this kind of run is redundant in this mode, or null. */
    public static String unfit(boolean warm, Mode mode) {
        switch (mode) {
            case XINT: return warm ? "nothing is compiled" : null;
            case XCOMP: return warm ? "all is compiled at the first call: the cold case asks in compiled code" : null;
            case C1: return warm ? null : "nothing is compiled yet: as in the mode mixed";
            default: return null;
        }
    }

    /** Runs after compilation, just before the call of `go` that asks. */
    protected void ready() {}

    public final void cold() throws Throwable {
        go();
    }

    /**
     * Fails the trigger unless the highest tier (C2, or C1 if it is the only compiler) compiled
     * `go`.
     */
    public final void warm() throws Throwable {
        Ask.unarmed();
        for (int i = 0; i < CALLS; i++) {
            go();
        }
        Ask.armed();
        ready();
        Ask.needs("\\s[14]\\s+\\Q" + getClass().getName() + "::go \\E\\(\\d+ bytes\\)$");
        go();
    }
}
