package dev.vouch.lab;

import java.util.ArrayList;
import java.util.List;

/**
 * The calls that lead to a question, to be gone cold (as the JVM first meets them) or warm (when they are compiled).
 *
 * The calls made to have them compiled lead to a question that is not asked, and so compile all that the one which is
 * asked goes through. A route must do the same each time.
 */
public abstract class Route {
    /** More than enough for the last compiler. */
    private static final int CALLS = 25_000;

    /** So that {@link #warm} sees what was compiled, and that `go` is compiled for itself. */
    private static final String[] WARM = {"-XX:+PrintCompilation", "-XX:CompileCommand=dontinline,*.go"};

    /** So that nothing is compiled by chance, because earlier cases or the JDK called it too (unless -Xcomp says so). */
    private static final String[] COLD = {
        "-XX:Tier3InvocationThreshold=1000000", "-XX:Tier3MinInvocationThreshold=1000000",
        "-XX:Tier3CompileThreshold=1000000", "-XX:Tier3BackEdgeThreshold=100000000",
    };

    /** Leads to {@link Ask#here}. */
    protected abstract void go() throws Throwable;

    /** The names of cases that are each gone cold and warm. */
    public static List<String> both(String... names) {
        List<String> both = new ArrayList<>();
        for (String name : names) {
            both.add(name + "-cold");
            both.add(name + "-warm");
        }
        return both;
    }

    /** What the JVM needs in which this route is gone. */
    public static String[] flags(boolean warm) {
        return (warm ? WARM : COLD).clone();
    }

    /** Why a route need not be gone so in this mode, or null. */
    public static String unfit(boolean warm, Mode mode) {
        switch (mode) {
            case XINT: return warm ? "nothing is compiled" : null;
            case XCOMP: return warm ? "all is compiled at the first call: the cold case asks in compiled code" : null;
            case C1: return warm ? null : "nothing is compiled yet: as in the mode mixed";
            default: return null;
        }
    }

    /** Called when all is compiled, before the call of `go` that asks. */
    protected void ready() {}

    public final void cold() throws Throwable {
        go();
    }

    /** Fails the trigger unless the last compiler to be expected (C2, or C1 where it stands alone) has compiled `go`. */
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
