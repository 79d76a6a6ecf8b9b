package dev.vouch.test;

import java.util.List;

/**
 * A run that the agent stops before the program starts, saying why. It must leave nothing behind.
 */
public final class Refusal {
    private static final String STARTED = "the program has started";

    private Refusal() {}

    /** Asserts the refusal, and that each of these stands in what is said; gives the lines. */
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
