package dev.vouch.cost;

import java.util.concurrent.TimeUnit;

import dev.vouch.Group;
import dev.vouch.Marker;
import dev.vouch.Scope;
import dev.vouch.Task;
import dev.vouch.Trace;
import dev.vouch.Vouch;
import jdk.jfr.Event;
import jdk.jfr.Recording;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * What a context, a trace, a task of a group and a marker cost, beside what else a program could
 * do: an empty block, a ThreadLocal that is set and set back, a look at the clock before and after,
 * a JFR event. `cargo xtask page api-cost` runs it with the agent and without.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@State(org.openjdk.jmh.annotations.Scope.Thread)
public class ApiCost {
    record Request(String user, String action, String file) {}

    static final class Served extends Event {
        String user;
        String action;
        String file;
    }

    private static final Group GROUP = Vouch.group("tasks");
    private static final Marker<Request> SERVED = Vouch.marker(Request.class);

    private static final ThreadLocal<Request> CURRENT = new ThreadLocal<>();

    // Each call gets its own value, as in a program that reads the value from somewhere.
    private String user = new String("moe");
    private String action = new String("store");
    private String file = new String("/var/lib/shop/orders");
    private String traceId = new String("0af7651916cd43dd8448eb211c80319c");
    private String spanId = new String("b7ad6b7169203331");
    private Request made = new Request(user, action, file);
    private int work;

    @Benchmark
    public int empty() {
        return work++;
    }

    @Benchmark
    public int threadLocal() {
        Request before = CURRENT.get();
        CURRENT.set(made);
        try {
            return work++;
        } finally {
            CURRENT.set(before);
        }
    }

    @Benchmark
    public int contextThatIsMade() {
        try (Scope scope = Vouch.with(made)) {
            return work++;
        }
    }

    @Benchmark
    public int context() {
        try (Scope scope = Vouch.with(new Request(user, action, file))) {
            return work++;
        }
    }

    @Benchmark
    public int contextInContext() {
        try (Scope outer = Vouch.with(made); Scope inner = Vouch.with("step")) {
            return work++;
        }
    }

    @Benchmark
    public int trace() {
        try (Trace trace = Vouch.trace(traceId, spanId)) {
            return work++;
        }
    }

    @Benchmark
    public int traceOfNumbers() {
        try (Trace trace = Vouch.trace(work | 1L, 2, work)) {
            return work++;
        }
    }

    @Benchmark
    public int task() {
        try (Task task = GROUP.enter()) {
            return work++;
        }
    }

    @Benchmark
    public int clocks() {
        return work += (int) (System.nanoTime() - System.nanoTime());
    }

    @Benchmark
    public int marker() {
        long began = SERVED.begin();
        try {
            return work++;
        } finally {
            SERVED.commit(began, made);
        }
    }

    /** Its events are recorded, without stacks: these would be most of it. */
    @State(org.openjdk.jmh.annotations.Scope.Benchmark)
    public static class Flight {
        private final Recording recording = new Recording();

        @Setup
        public void start() {
            recording.enable(Served.class).withoutStackTrace().withoutThreshold();
            recording.start();
        }

        @TearDown
        public void stop() {
            recording.close();
        }
    }

    @Benchmark
    public int flightRecorderEvent(Flight flight) {
        Served event = new Served();
        event.begin();
        try {
            return work++;
        } finally {
            event.user = user;
            event.action = action;
            event.file = file;
            event.commit();
        }
    }
}
