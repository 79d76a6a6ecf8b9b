package dev.vouch.lab;

/**
 * One situation in which a stack is walked, in one or more cases.
 *
 * The truth is known by construction. A case lists with {@link Ask#truth} which of its methods must
 * be on the stack, leaf first.
 *
 * A subclass is a jtreg test and, with arguments, the program in the child JVM. Its main passes
 * both to {@link Lab}. On the path to a question, cases must not use reflection, lambdas or string
 * concatenation, unless they test those.
 */
public abstract class Scenario {
    /**
     * Returns the cases in the order in which they run, by their names in the expectations file.
     */
    protected abstract String[] cases();

    /** Runs one case, which calls {@link Ask#here} or {@link Ask#other} to ask. */
    protected abstract void run(String name) throws Throwable;

    /**
     * Returns the JVM flags besides the mode's. Cases with different flags run in separate JVMs.
     */
    protected String[] flags(String name) {
        return new String[0];
    }

    /** Returns the agent's options, or null if {@link Ask#attach} loads the agent later. */
    protected String agentOptions(String name) {
        return "lab";
    }

    /** Returns the timeout of a child for all of its cases, in seconds. */
    protected int patience() {
        return 90;
    }

    /** Returns why this JDK cannot run the case in this mode, or null if it can. */
    protected String unfit(String name, int jdk, Mode mode) {
        return null;
    }
}
