package dev.vouch.test;

import java.util.List;

/**
 * A run that the agent refuses before the program starts, with a reason. It must leave no files.
 */
public final class Refusal {
    private static final String STARTED = "the program has started";

    private Refusal() {}

    /** Asserts the refusal, and that its message has each of these parts. Returns the lines. */
    public static List<String> of(Vm vm, String... parts) {
        Run run = vm.run(Program.class);
        Check.that(!run.out.contains(STARTED), "the program has started, though the agent said " + run.vouchLines());
        Check.equal(1, run.exit, "exit code of the refusal " + run.vouchLines());
        Check.empty(run.files(), "files of a run that was refused");
        List<String> said = run.vouchLines();
        for (String part : parts) {
            Check.contains(String.join("\n", said), part, "why the run is refused");
        }
        return said;
    }

    static class Program {
        public static void main(String[] args) {
            System.out.println(STARTED);
        }
    }
}
