package dev.vouch.lab;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

import dev.vouch.test.Check;
import dev.vouch.test.Vm;

/**
 * Runs a scenario in every mode, each in separate JVMs, and compares the results with the
 * expectations.
 *
 * A scenario's main calls this class. Without arguments it runs the test, which fails only on
 * unexpected results. With "--child" and case names it is the program in the child JVM.
 * VOUCH_LAB_MODES="mixed xint" limits the modes.
 */
public final class Lab {
    private Lab() {}

    public static void main(Scenario scenario, String[] args) throws Throwable {
        if (args.length > 0 && args[0].equals("--child")) {
            child(scenario, Arrays.copyOfRange(args, 1, args.length));
        } else {
            test(scenario);
        }
    }

    private static void child(Scenario scenario, String[] cases) throws Throwable {
        for (String name : cases) {
            Ask.armed();
            Ask.say("begin", name);
            scenario.run(name);
            Ask.say("end", name);
        }
    }

    private static void test(Scenario scenario) {
        List<Result> results = new ArrayList<>();
        for (Mode mode : modes()) {
            for (List<String> cases : together(scenario, mode, results)) {
                results.addAll(new Children(scenario, mode).run(cases));
            }
        }
        Expectations expectations = Expectations.read();
        List<String> news = new ArrayList<>();
        for (Result result : results) {
            result.judge(expectations);
            news.addAll(result.news);
        }
        Results.write(scenario, results);
        Results.show(results);
        expectations.checkNames(scenario.getClass().getSimpleName(), Arrays.asList(scenario.cases()));
        Check.that(!results.isEmpty(), "the scenario has no cases");
        Check.empty(news, "news on JDK " + Vm.major());
    }

    private static Set<Mode> modes() {
        String wanted = System.getenv("VOUCH_LAB_MODES");
        if (wanted == null || wanted.trim().isEmpty()) {
            return EnumSet.allOf(Mode.class);
        }
        Set<Mode> modes = EnumSet.noneOf(Mode.class);
        for (String word : wanted.trim().split("\\s+")) {
            modes.add(Mode.valueOf(word.toUpperCase(java.util.Locale.ROOT)));
        }
        return modes;
    }

    /**
     * Groups the cases by the JVM that they need. Each unfit case becomes a result with its reason.
     */
    private static Iterable<List<String>> together(Scenario scenario, Mode mode, List<Result> results) {
        Map<String, List<String>> groups = new LinkedHashMap<>();
        for (String name : scenario.cases()) {
            String unfit = scenario.unfit(name, Vm.major(), mode);
            if (unfit != null) {
                results.add(new Result(scenario, name, mode).unfit(unfit));
            } else {
                String needs = Arrays.toString(scenario.flags(name)) + scenario.agentOptions(name);
                groups.computeIfAbsent(needs, key -> new ArrayList<>()).add(name);
            }
        }
        return groups.values();
    }
}
