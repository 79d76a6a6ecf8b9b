/*
 * A program uses groups and markers from its start, and the agent is attached later, stopped and
 * started again. Each recording must contain all tasks and markers of its time, and no others. That
 * includes those of a second copy of the library. (Each web application brings its own copy.)
 * Between recordings the agent reports nothing.
 *
 * @test
 * @summary tasks and markers of a program that is attached to, recorded twice, with two libraries
 * @key attach newest
 * @library /lib /api/src
 * @build dev.vouch.test.* dev.vouch.Vouch
 * @run main/timeout=200 Attached
 */

import java.io.IOException;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Scanner;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import dev.vouch.Group;
import dev.vouch.Marker;
import dev.vouch.Task;
import dev.vouch.Vouch;
import dev.vouch.test.Attach;
import dev.vouch.test.Check;
import dev.vouch.test.Report;
import dev.vouch.test.Running;
import dev.vouch.test.SecondCopy;
import dev.vouch.test.Tool;
import dev.vouch.test.Vm;

public class Attached {
    private static final int TASKS = 500;

    public static void main(String[] args) throws IOException, InterruptedException {
        try (Running child = Vm.without().start(Service.class)) {
            child.awaitOut("ready");
            String pid = "" + child.pid();
            Check.contains(Tool.vouch(child.dir, "groups", pid).text, "process " + pid + " was never recorded", "groups of whom nobody has recorded");
            try (Attach attach = Attach.to(child)) {
                for (String name : new String[] {"first", "second"}) {
                    Path report = child.dir.resolve(name + "-report.json");
                    work(child, "before " + name);
                    attach.must("out=" + child.dir.resolve(name + ".json") + ",report=" + report);
                    work(child, name);
                    asked(child, name);
                    attach.must("stop");
                    check(Report.read(report).json, name);
                }
            }
            child.stdin().println("exit");
            child.waitFor().ok();
        }
    }

    /** Asks the running JVM for its groups while it is recorded. */
    private static void asked(Running child, String name) throws IOException, InterruptedException {
        String told = Tool.vouch(child.dir, "groups", "--json", "" + child.pid()).text;
        JsonObject groups = JsonParser.parseString(told).getAsJsonObject();
        Check.equal(2L * TASKS, groups.getAsJsonObject(name).get("tasks").getAsLong(), "tasks that a JVM tells of that runs");
        Check.that(!Files.exists(child.dir.resolve(name + ".json")), "to be asked is to write nothing");
    }

    private static void work(Running child, String name) {
        child.stdin().println(name);
        child.awaitOut("done " + name);
    }

    private static void check(JsonObject report, String name) {
        JsonObject groups = report.getAsJsonObject("groups");
        Check.equal(1, groups.size(), "groups of the " + name + " recording: " + groups);
        Check.equal(2L * TASKS, groups.getAsJsonObject(name).get("tasks").getAsLong(), "tasks of both copies");
        JsonObject told = report.getAsJsonObject("markers").getAsJsonObject("java.lang.String");
        Check.equal(2L * TASKS, told.get("count").getAsLong(), "markers of the " + name + " recording");
    }

    /** The work that each copy of the library does. */
    public static final class Work implements Runnable {
        private static final Marker<String> MARKER = Vouch.marker(String.class);
        private final String name;

        public Work(String name) {
            this.name = name;
        }

        @Override
        public void run() {
            Group group = Vouch.group(name);
            for (int at = 0; at < TASKS; at++) {
                try (Task task = group.enter()) {
                    MARKER.commit(name);
                }
            }
        }
    }

    static final class Service {
        public static void main(String[] args) throws Exception {
            try (URLClassLoader other = SecondCopy.loader(); Scanner lines = new Scanner(System.in)) {
                Class<?> copy = other.loadClass(Work.class.getName());
                System.out.println("ready");
                for (String name = lines.nextLine(); !name.equals("exit"); name = lines.nextLine()) {
                    new Work(name).run();
                    ((Runnable) copy.getConstructor(String.class).newInstance(name)).run();
                    System.out.println("done " + name);
                }
            }
        }
    }
}
