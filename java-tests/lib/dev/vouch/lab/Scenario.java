package dev.vouch.lab;

/**
 * One situation in which a stack is walked, in one or more cases. The truth is known by construction: a case says with
 * {@link Ask#truth} which of its own methods must be on the stack, in the order in which they called each other.
 *
 * A subclass is a jtreg test and, with arguments, the program in the child JVM; its main hands both to {@link Lab}. Its
 * cases must not use reflection, lambdas or string concatenation on the way to a question, unless they are about those.
 */
public abstract class Scenario {
    /** The cases in the order in which they run. Their names are those of the expectations file. */
    protected abstract String[] cases();

    /** Runs one case, and calls {@link Ask#here} or {@link Ask#other} where the truth is to be asked. */
    protected abstract void run(String name) throws Throwable;

    /** What the child's command line needs besides the mode. Cases with other flags run in other JVMs. */
    protected String[] flags(String name) {
        return new String[0];
    }

    /** The agent's options, or null if it is to be attached later, by {@link Ask#attach}. */
    protected String agentOptions(String name) {
        return "lab";
    }

    /** How long a child may take for all of its cases, in seconds. */
    protected int patience() {
        return 90;
    }

    /** Why the case cannot be asked in this mode on this JDK, or null if it can. */
    protected String unfit(String name, int jdk, Mode mode) {
        return null;
    }
}
