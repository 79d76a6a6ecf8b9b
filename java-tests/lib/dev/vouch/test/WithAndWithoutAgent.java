package dev.vouch.test;

import java.util.List;
import java.util.stream.Collectors;

/**
 * Runs one program without the agent and with it. Exit code, stdout, and stderr without the agent's
 * own lines must be the same.
 */
public final class WithAndWithoutAgent {
    public final Run without;
    public final Run with;

    private WithAndWithoutAgent(Run without, Run with) {
        this.without = without;
        this.with = with;
    }

    /**
     * Runs the program twice; null if this JVM does not have the flags, or cannot do what they ask
     * on this machine.
     */
    public static WithAndWithoutAgent run(String options, String[] flags, Class<?> main, String... args) {
        Run without = flagged(Vm.without(), flags).run(main, args);
        if (without.exit == 1 && without.out.stream().anyMatch(line -> line.startsWith("Error occurred during initialization of VM"))
                || without.err.stream().anyMatch(line -> line.startsWith("Error: Could not create the Java Virtual Machine"))) {
            System.out.println("not known here: " + String.join(" ", flags));
            return null;
        }
        Run with = flagged(Vm.with(options), flags).run(main, args);
        Check.that(without.exit == with.exit, "exit code with the agent, under " + String.join(" ", flags) + ": expected "
            + without.exit + ", came " + with.exit + "; stderr: " + with.err);
        Check.equal(written(without), written(with), "stdout with the agent, under " + String.join(" ", flags));
        return new WithAndWithoutAgent(without, with);
    }

    /** Checks that stderr is the same. A test with another expectation checks stderr itself. */
    public WithAndWithoutAgent sameErr() {
        Check.equal(without.otherErr(), with.otherErr(), "stderr with the agent, but for its own lines");
        return this;
    }

    /** The output without the JVM's own log, which has times in it. */
    private static List<String> written(Run run) {
        return run.out.stream().filter(line -> !line.matches("\\[\\d+[.,]\\d+s]\\[.*")).collect(Collectors.toList());
    }

    private static Vm flagged(Vm vm, String[] flags) {
        for (String flag : flags) {
            if (flag.matches("-XX:\\+Use\\w+GC")) {
                vm.collector(flag);
            } else {
                vm.flags(flag);
            }
        }
        return vm;
    }
}
