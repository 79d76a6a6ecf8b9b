package dev.vouch.lab;

/**
 * The calls that lead to a question, to be gone cold (as the JVM first meets them) or warm (when they are compiled).
 *
 * The calls made to have them compiled lead to a question that is not asked, and so compile all that the one which is
 * asked goes through. A route must do the same each time.
 */
public abstract class Route {
    /** More than enough for the last compiler. */
    private static final int CALLS = 25_000;

    /** What a JVM needs so that {@link #warm} can see what was compiled. */
    public static final String[] FLAGS = {"-XX:+PrintCompilation"};

    /** Leads to {@link Ask#here}. */
    protected abstract void go() throws Throwable;

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
