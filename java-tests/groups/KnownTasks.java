/*
 * Groups contain tasks of known lengths, busy and asleep, on several threads. The program measures
 * each task inside and around it, by the JVM's own thread clock. The groups' sums and counts of
 * long tasks must lie between the two. Other cases misuse groups, each with a defined result.
 * @test
 * @key newest
 * @summary groups have their tasks' true times and counts, and misuse does no harm
 * @library /lib /api/src
 * @build dev.vouch.test.* dev.vouch.Vouch
 * @run main/timeout=200 KnownTasks
 */

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import dev.vouch.Group;
import dev.vouch.Jank;
import dev.vouch.Snapshot;
import dev.vouch.Task;
import dev.vouch.Vouch;
import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Mark;
import dev.vouch.test.Run;
import dev.vouch.test.Vm;

public class KnownTasks {
    private static final int THREADS = 3;
    private static final int SHORT = 20_000;
    private static final int LIMITS = 10;

    public static void main(String[] args) {
        check(Vm.with("interval=1ms").run(Program.class).ok());
        Run without = Vm.without().run(Program.class, "alone").ok();
        Check.equal(0, JsonParser.parseString(without.value("all")).getAsJsonObject().getAsJsonArray("groups").size(), "groups without the agent");
    }

    private static void check(Run run) {
        JsonObject all = JsonParser.parseString(run.value("all")).getAsJsonObject();
        measured(group(all, "measured"), JsonParser.parseString(run.value("measured")).getAsJsonObject());
        JsonObject asleep = group(all, "asleep");
        Check.that(asleep.get("cpu_ms").getAsDouble() < asleep.get("wall_ms").getAsDouble() / 2, "who sleeps is not on a processor: " + asleep);
        Check.equal((long) THREADS * SHORT, tasks(all, "short"), "short tasks of several threads");
        Check.equal(1L, tasks(all, "nested"), "a group that is entered inside of itself");
        Check.equal(1L, tasks(all, "outer"), "one that is inside of another");
        Check.equal(1L, tasks(all, "closed twice"), "a task that is closed twice");
        Check.equal(2L, tasks(all, "loop"), "tasks of a nested loop, and one behind it");
        Check.equal(1L, group(all, "loop").get("abandoned").getAsLong(), "the task around the nested loop");
        Check.equal(1L, group(all, "elsewhere").get("abandoned").getAsLong(), "a task that is closed on another thread");
        Check.equal(1L, tasks(all, "elsewhere"), "the task behind it");
        Check.equal(1L, tasks(all, "before anybody asked"), "a task while only the recording wants to know");
        Check.equal(null, find(all, "never closed"), "a task that is never closed");
        Check.that(tasks(all, "[others]") > 0, "groups that are too many");
        Check.equal(1L, tasks(JsonParser.parseString(run.value("since")).getAsJsonObject(), "since"), "tasks since the other snapshot");
        Check.equal("[told]", run.value("jank"), "who watched was told");
        reported(run);
        if (Vm.major() >= 21) {
            Check.equal(1L, tasks(all, "virtual"), "a virtual thread's task");
            Check.equal(1L, group(all, "virtual").get("tasks_without_cpu").getAsLong(), "it has no CPU time that is known");
        }
    }

    /** The report has what the snapshot had, and the timeline has the tasks of 10 ms or more. */
    private static void reported(Run run) {
        JsonObject groups = run.report().json.getAsJsonObject("groups");
        JsonObject all = JsonParser.parseString(run.value("all")).getAsJsonObject();
        Check.equal(all.getAsJsonArray("groups").size(), groups.size(), "groups in the report");
        for (JsonElement one : all.getAsJsonArray("groups")) {
            JsonObject group = one.getAsJsonObject();
            JsonObject reported = groups.getAsJsonObject(group.get("name").getAsString());
            // There are thousands of groups, so each is formatted once.
            String whose = " of " + group;
            for (Map.Entry<String, JsonElement> figure : reported.entrySet()) {
                if (figure.getKey().endsWith("_ms") && figure.getValue().isJsonPrimitive()) {
                    Check.near(group.get(figure.getKey()).getAsDouble(), figure.getValue().getAsDouble(), 0.001, figure.getKey() + whose);
                } else {
                    Check.equal(group.get(figure.getKey()), figure.getValue(), figure.getKey() + whose);
                }
            }
        }
        JsonObject measured = groups.getAsJsonObject("measured");
        long long16 = measured.getAsJsonObject("tasks_of_ms").get("16").getAsLong();
        long long8 = measured.getAsJsonObject("tasks_of_ms").get("8").getAsLong();
        long shown = 0;
        long busy = 0;
        for (Mark mark : run.profile().marks("task")) {
            Check.that(mark.ms() > 9.99, "a task that took less than 10 ms is shown: " + mark);
            if (mark.text("group").equals("measured")) {
                shown++;
                double cpu = mark.data.get("cpu").getAsDouble();
                // A task that slept is in the timeline too if the machine was suspended meanwhile.
                Check.that(cpu >= 0 && cpu <= mark.ms() + 0.01, "CPU time of " + mark);
                busy += cpu >= 10 ? 1 : 0;
            }
        }
        Check.between(long16, shown, long8, "tasks in the timeline");
        Check.that(busy > 0, "no task of 12 ms of CPU time is shown");
        drawn(run, "measured", measured);
        Check.that(counter(run, "asleep") != null, "a group that takes little has a graph, too");
        Check.equal(null, counter(run, "never closed"), "the graph of a group without CPU time");
    }

    /** The steps of a group's graph add up to its CPU time. */
    private static void drawn(Run run, String name, JsonObject reported) {
        double sum = 0;
        for (JsonElement grown : counter(run, name).getAsJsonObject("samples").getAsJsonArray("count")) {
            Check.that(grown.getAsDouble() >= 0, "CPU time is given back: " + grown);
            sum += grown.getAsDouble();
        }
        Check.near(reported.get("cpu_ms").getAsDouble(), sum, 0.002, "CPU time in the graph of " + name);
    }

    private static JsonObject counter(Run run, String group) {
        for (JsonElement counter : run.profile().json.getAsJsonArray("counters")) {
            if (counter.getAsJsonObject().get("name").getAsString().equals("Group " + group)) {
                return counter.getAsJsonObject();
            }
        }
        return null;
    }

    /** The group's times are between those measured inside of each task and around it. */
    private static void measured(JsonObject group, JsonObject own) {
        Check.equal(own.get("tasks").getAsLong(), group.get("tasks").getAsLong(), "tasks");
        long tasks = own.get("tasks").getAsLong();
        double inside = own.get("wall_inside").getAsDouble();
        double around = own.get("wall_around").getAsDouble();
        double wall = group.get("wall_ms").getAsDouble();
        Check.that(wall >= inside - 0.01 && wall <= around + 0.01, "time of " + wall + " ms, measured " + inside + " to " + around);
        // Interrupts and the host take time from a thread without a context switch. The kernel may
        // charge the thread for it.
        double cpu = group.get("cpu_ms").getAsDouble();
        double cpuInside = own.get("cpu_inside").getAsDouble();
        double cpuAround = own.get("cpu_around").getAsDouble();
        double stolen = own.get("stolen").getAsDouble();
        Check.that(cpu >= 0.97 * cpuInside && cpu <= 1.03 * cpuAround + stolen,
            "CPU time of " + cpu + " ms, measured " + cpuInside + " to " + cpuAround + " while a host below took " + stolen + " ms");
        double blocked = group.get("blocked_ms").getAsDouble();
        Check.that(Math.abs(wall - cpu - blocked) < 0.01, "blocked for " + blocked + " ms of " + wall + " with " + cpu + " on a processor");
        long askew = 0;
        for (int limit = 0; limit < LIMITS; limit++) {
            String name = "" + (1 << limit);
            long seen = group.getAsJsonObject("tasks_of_ms").get(name).getAsLong();
            long least = own.getAsJsonArray("wall_least").get(limit).getAsLong();
            long most = own.getAsJsonArray("wall_most").get(limit).getAsLong();
            Check.between(least, seen, most, "tasks of " + name + " ms");
            long seenCpu = group.getAsJsonObject("tasks_of_cpu_ms").get(name).getAsLong();
            askew += Math.max(0, own.getAsJsonArray("cpu_least").get(limit).getAsLong() - seenCpu);
            askew += Math.max(0, seenCpu - own.getAsJsonArray("cpu_most").get(limit).getAsLong());
        }
        // Each millisecond that the host takes may have moved one task to another length.
        Check.that(askew <= tasks / 50 + stolen, askew + " of " + tasks + " tasks are counted at another length of CPU time: " + group + " " + own);
    }

    private static JsonObject find(JsonObject all, String name) {
        for (JsonElement group : all.getAsJsonArray("groups")) {
            if (group.getAsJsonObject().get("name").getAsString().equals(name)) {
                return group.getAsJsonObject();
            }
        }
        return null;
    }

    private static JsonObject group(JsonObject all, String name) {
        JsonObject found = find(all, name);
        Check.that(found != null, "no group " + name + " in " + all);
        return found;
    }

    private static long tasks(JsonObject all, String name) {
        return group(all, name).get("tasks").getAsLong();
    }

    static final class Program {
        private static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();
        private static final int TASKS = 150;

        /** What each task took, by clocks inside of it and around it. */
        private static final List<long[]> MEASURED = new ArrayList<>();

        public static void main(String[] args) throws Exception {
            try (Task task = Vouch.group("before anybody asked").enter()) {
                Burn.millis(1);
            }
            Vouch.snapshot();
            // The agent alone knows how long tasks take.
            if (args.length == 0) {
                measured();
                sleep();
            }
            CountDownLatch done = new CountDownLatch(THREADS);
            for (int thread = 0; thread < THREADS; thread++) {
                new Thread(() -> {
                    for (int at = 0; at < SHORT; at++) {
                        Vouch.group("short").enter().close();
                    }
                    done.countDown();
                }).start();
            }
            done.await();
            misuse();
            System.out.println("jank=" + jank(args.length == 0));
            Snapshot before = Vouch.snapshot();
            Vouch.group("since").enter().close();
            System.out.println("since=" + Vouch.snapshot().since(before).toJson());
            for (int at = 0; at < 5_000; at++) {
                Vouch.group("tenant " + at).enter().close();
            }
            if (Vm.major() >= 21) {
                Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
                Runnable task = () -> Vouch.group("virtual").enter().close();
                // This group was named before the limit was reached.
                ((Thread) start.invoke(null, task)).join();
            }
            System.out.println("all=" + Vouch.snapshot().toJson());
            System.out.println(Vouch.snapshot());
        }

        private static void measured() throws InterruptedException, IOException {
            Vouch.group("virtual");
            Group group = Vouch.group("measured");
            long[] busy = {100, 1_500, 3_000, 6_000, 12_000};
            long stolen = stolen();
            for (int at = 0; at < TASKS; at++) {
                long[] task = new long[8];
                task[0] = System.nanoTime();
                task[1] = CLOCK.getCurrentThreadCpuTime();
                Task open = group.enter();
                task[2] = System.nanoTime();
                task[3] = CLOCK.getCurrentThreadCpuTime();
                if (at % 10 == 9) {
                    Thread.sleep(3);
                } else {
                    long until = task[3] + 1_000 * busy[at % busy.length];
                    while (CLOCK.getCurrentThreadCpuTime() < until) {
                        Burn.work(10);
                    }
                }
                task[5] = CLOCK.getCurrentThreadCpuTime();
                task[4] = System.nanoTime();
                open.close();
                task[7] = CLOCK.getCurrentThreadCpuTime();
                task[6] = System.nanoTime();
                MEASURED.add(task);
            }
            stolen = stolen() - stolen;
            long[] sums = new long[4];
            long[][] counts = new long[4][LIMITS];
            for (long[] task : MEASURED) {
                long[] took = {task[4] - task[2], task[6] - task[0], task[5] - task[3], task[7] - task[1]};
                for (int which = 0; which < 4; which++) {
                    sums[which] += took[which];
                    for (int limit = 0; limit < LIMITS; limit++) {
                        counts[which][limit] += took[which] >= 1_000_000L << limit ? 1 : 0;
                    }
                }
            }
            System.out.println("measured={\"tasks\": " + TASKS + ", \"stolen\": " + stolen + ", \"wall_inside\": " + sums[0] / 1e6 + ", \"wall_around\": " + sums[1] / 1e6
                + ", \"cpu_inside\": " + sums[2] / 1e6 + ", \"cpu_around\": " + sums[3] / 1e6 + ", \"wall_least\": " + text(counts[0])
                + ", \"wall_most\": " + text(counts[1]) + ", \"cpu_least\": " + text(counts[2]) + ", \"cpu_most\": " + text(counts[3]) + "}");
        }

        /** The steal time of this machine's processors, in milliseconds. */
        private static long stolen() throws IOException {
            String[] words = Files.readAllLines(Paths.get("/proc/stat")).get(0).trim().split("\\s+");
            return 10 * Long.parseLong(words[8]);
        }

        private static String text(long[] counts) {
            return java.util.Arrays.toString(counts);
        }

        private static void sleep() throws InterruptedException {
            for (int at = 0; at < 20; at++) {
                try (Task task = Vouch.group("asleep").enter()) {
                    Thread.sleep(5);
                }
            }
        }

        private static void misuse() throws InterruptedException {
            try (Task outer = Vouch.group("outer").enter(); Task first = Vouch.group("nested").enter()) {
                Vouch.group("nested").enter().close();
                Vouch.group("nested").enter().close();
            }
            Task twice = Vouch.group("closed twice").enter();
            twice.close();
            twice.close();
            Task around = Vouch.group("loop").enter();
            Vouch.nextEvent();
            Vouch.group("loop").enter().close();
            around.close();
            Vouch.nextEvent();
            Vouch.group("loop").enter().close();
            Task elsewhere = Vouch.group("elsewhere").enter();
            Thread other = new Thread(elsewhere::close);
            other.start();
            other.join();
            Vouch.group("elsewhere").enter().close();
            Vouch.group("never closed").enter();
        }

        /**
         * Three of the last five tasks take 5 ms or more, within a minute: the listener is called
         * once.
         */
        private static List<String> jank(boolean anybody) throws InterruptedException {
            List<String> told = new ArrayList<>();
            CountDownLatch first = new CountDownLatch(1);
            Group slow = Vouch.group("slow");
            try (Jank jank = Vouch.onJank(slow, 3, 5, 60, took -> {
                told.add(took >= 5_000_000 ? "told" : "too early: " + took);
                first.countDown();
            })) {
                for (int at = 0; at < 10; at++) {
                    try (Task task = slow.enter()) {
                        Thread.sleep(6);
                    }
                }
                first.await(anybody ? 20 : 0, TimeUnit.SECONDS);
            }
            return told;
        }
    }
}
