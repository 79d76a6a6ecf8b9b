package dev.vouch;

import java.util.Locale;

/** The counts and times of the tasks of a {@linkplain Group group}. */
public final class Spent {
    private final String name;
    /** The sums, in the order of {@link Sums}. */
    private final long[] sums;

    Spent(String name, long[] sums) {
        this.name = name;
        this.sums = sums;
    }

    /** Subtracts earlier sums of the same group. */
    Spent since(Spent earlier) {
        long[] less = new long[sums.length];
        for (int at = 0; at < less.length; at++) {
            less[at] = sums[at] - earlier.sums[at];
        }
        return new Spent(name, less);
    }

    boolean isNothing() {
        return sums[Sums.TASKS] == 0 && sums[Sums.ABANDONED] == 0;
    }

    /**
     * The group's name.
     *
     * @return the name
     */
    public String name() {
        return name;
    }

    /**
     * The number of tasks that have ended.
     *
     * @return the number
     */
    public long tasks() {
        return sums[Sums.TASKS];
    }

    /**
     * The number of tasks that were abandoned. A task is abandoned if its thread's event loop is
     * entered again inside it, or if it is closed on another thread. No other count or time
     * includes it.
     *
     * @return the number
     */
    public long abandoned() {
        return sums[Sums.ABANDONED];
    }

    /**
     * The number of tasks without a CPU time: those of virtual threads.
     *
     * @return the number
     */
    public long tasksWithoutCpu() {
        return sums[Sums.UNKNOWN];
    }

    /**
     * The elapsed time of all tasks.
     *
     * @return nanoseconds
     */
    public long wallNanos() {
        return sums[Sums.WALL];
    }

    /**
     * The CPU time of the tasks. Tasks of virtual threads are not included.
     *
     * @return nanoseconds
     */
    public long cpuNanos() {
        return sums[Sums.CPU];
    }

    /**
     * The time that the tasks were not on a processor. Tasks of virtual threads are not included.
     *
     * @return nanoseconds
     */
    public long blockedNanos() {
        return Math.max(0, wallNanos() - sums[Sums.UNKNOWN_WALL] - cpuNanos());
    }

    /**
     * The number of tasks that took at least this long.
     *
     * @param millis 1, 2, 4, or another power of two up to 512
     * @return the number
     */
    public long tasksOf(int millis) {
        return beyond(Sums.LONG_WALL, millis);
    }

    /**
     * The number of tasks that took at least this much CPU time.
     *
     * @param millis 1, 2, 4, or another power of two up to 512
     * @return the number
     */
    public long tasksOfCpu(int millis) {
        return beyond(Sums.LONG_CPU, millis);
    }

    private long beyond(int limits, int millis) {
        if (Integer.bitCount(millis) != 1 || millis < 1 || millis >= 1 << Sums.LIMITS) {
            throw new IllegalArgumentException("millis must be a power of two from 1 to 512: " + millis);
        }
        long sum = 0;
        for (int at = Integer.numberOfTrailingZeros(millis); at < Sums.LIMITS; at++) {
            sum += sums[limits + at];
        }
        return sum;
    }

    void write(StringBuilder json) {
        json.append("{\"name\": ").append(quoted(name)).append(", \"tasks\": ").append(tasks());
        json.append(", \"abandoned\": ").append(abandoned()).append(", \"tasks_without_cpu\": ").append(tasksWithoutCpu());
        json.append(", \"wall_ms\": ").append(millis(wallNanos())).append(", \"cpu_ms\": ").append(millis(cpuNanos()));
        json.append(", \"blocked_ms\": ").append(millis(blockedNanos()));
        write(json, "tasks_of_ms", Sums.LONG_WALL);
        write(json, "tasks_of_cpu_ms", Sums.LONG_CPU);
        json.append('}');
    }

    private void write(StringBuilder json, String key, int limits) {
        json.append(", \"").append(key).append("\": {");
        for (int at = 0; at < Sums.LIMITS; at++) {
            json.append(at == 0 ? "\"" : ", \"").append(1 << at).append("\": ").append(beyond(limits, 1 << at));
        }
        json.append('}');
    }

    private static String millis(long nanos) {
        return String.format(Locale.ROOT, "%.3f", nanos / 1e6);
    }

    private static String quoted(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char letter : text.toCharArray()) {
            if (letter == '"' || letter == '\\') {
                quoted.append('\\').append(letter);
            } else if (letter < ' ' || Character.isSurrogate(letter)) {
                quoted.append(String.format(Locale.ROOT, "\\u%04x", (int) letter));
            } else {
                quoted.append(letter);
            }
        }
        return quoted.append('"').toString();
    }

    /** Formats the counts and times as one line. */
    @Override
    public String toString() {
        return String.format(Locale.ROOT, "%12s ms CPU  %12s ms blocked  %9d tasks, %d of 16 ms and more, %d of 128  %s",
            millis(cpuNanos()), millis(blockedNanos()), tasks(), tasksOf(16), tasksOf(128), name);
    }
}
