import java.io.IOException;
import java.io.PrintWriter;
import java.lang.instrument.Instrumentation;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Random;

import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/**
 * Measures the cost of profilers beside a program (-javaagent). It starts and stops profilers in
 * the running JVM, between the program's rounds, and reports how long a round took under each.
 *
 * It uses a single JVM, since two JVMs never compile the same code alike, and differ by more than a
 * profiler's cost. Each time is compared with the times without a profiler just before and after
 * it. It must never count a round in which a profiler was started or stopped.
 *
 * Arguments, separated by commas: seconds of each measurement, turns, the output file, the file of
 * profilers. Each line of that file has, separated by tabs, a name, the seconds before the
 * measurement, and two diagnostic commands. The commands start and stop the profiler.
 */
public final class Turns {
    /** By then the compilers have mostly finished. */
    private static final double WARM_UP = 20;
    private static final double SETTLE = 0.5;
    private static final Way NOTHING = new Way(new String[] {"nothing", String.valueOf(SETTLE), "", ""});

    private static final class Way {
        final String name;
        final double settle;
        final String start;
        final String stop;

        Way(String[] parts) {
            name = parts[0];
            settle = Double.parseDouble(parts[1]);
            start = parts[2];
            stop = parts[3];
        }
    }

    /** How long a round took with one of the profilers, in nanoseconds. */
    private static final class Took {
        final Way way;
        final double cpu;
        final double wall;

        Took(Way way, double cpu, double wall) {
            this.way = way;
            this.cpu = cpu;
            this.wall = wall;
        }
    }

    private final MBeanServer jvm = ManagementFactory.getPlatformMBeanServer();
    private final double seconds;
    private final int turns;
    private final String out;
    private final List<Way> order = new ArrayList<>();
    private final int inATurn;
    private final List<Took> took = new ArrayList<>();

    private int at;
    private boolean measures;
    private long since = System.nanoTime();
    private long cpu;
    private int rounds;

    private Turns(String[] arguments) throws IOException {
        seconds = Double.parseDouble(arguments[0]);
        turns = Integer.parseInt(arguments[1]);
        out = arguments[2];
        List<Way> ways = new ArrayList<>();
        for (String line : Files.readAllLines(Paths.get(arguments[3]))) {
            ways.add(new Way(line.split("\t", -1)));
        }
        inATurn = 2 * ways.size();
        order.add(NOTHING);
        // The first turn is a warm-up and is not reported.
        for (int turn = 0; turn <= turns; turn++) {
            Collections.shuffle(ways, new Random(turn));
            for (Way way : ways) {
                order.add(way);
                order.add(NOTHING);
            }
        }
    }

    public static void premain(String arguments, Instrumentation jvm) throws IOException {
        Rounds.goesOn = new Turns(arguments.split(","))::roundEnded;
    }

    /** Called after each round: true if another one follows. */
    private boolean roundEnded() throws Exception {
        long now = System.nanoTime();
        Way way = order.get(at);
        if (!measures) {
            if (now - since < (at == 0 ? WARM_UP : way.settle) * 1e9) {
                return true;
            }
            measures = true;
            rounds = 0;
            cpu = cpuTime();
            since = System.nanoTime();
            return true;
        }
        rounds++;
        if (now - since < seconds * 1e9) {
            return true;
        }
        took.add(new Took(way, (double) (cpuTime() - cpu) / rounds, (double) (now - since) / rounds));
        command(way.stop);
        if (at % inATurn == 0 && at > inATurn) {
            System.err.printf("turn %d of %d%n", at / inATurn - 1, turns);
        }
        at++;
        if (at == order.size()) {
            tell();
            return false;
        }
        command(order.get(at).start);
        measures = false;
        since = System.nanoTime();
        return true;
    }

    private long cpuTime() throws JMException {
        return (Long) jvm.getAttribute(new ObjectName("java.lang:type=OperatingSystem"), "ProcessCpuTime");
    }

    /**
     * Makes the JVM run a diagnostic command: its name in the bean, and its arguments.
     */
    private void command(String line) throws JMException {
        if (line.isEmpty()) {
            return;
        }
        String[] parts = line.split(" ");
        String[] given = new String[parts.length - 1];
        System.arraycopy(parts, 1, given, 0, given.length);
        Object answer = jvm.invoke(new ObjectName("com.sun.management:type=DiagnosticCommand"), parts[0], new Object[] {given},
            new String[] {String[].class.getName()});
        // Agents return this code; JFR's commands return other text.
        Rounds.check(!String.valueOf(answer).matches("(?s)return code: -?[1-9].*"), line + ": " + answer);
    }

    /**
     * Writes each profiler's times, relative to the mean of those just before and after without
     * one.
     */
    private void tell() throws IOException {
        try (PrintWriter file = new PrintWriter(out, "UTF-8")) {
            for (int i = inATurn + 1; i < took.size(); i += 2) {
                Took before = took.get(i - 1);
                Took one = took.get(i);
                Took after = took.get(i + 1);
                file.printf(Locale.ROOT, "%s\t%.5f\t%.5f%n", one.way.name, one.cpu * 2 / (before.cpu + after.cpu), one.wall * 2 / (before.wall + after.wall));
            }
        }
    }
}
