/*
 * A dump is made while a thread waits for a lock, which it gets later. The dump must say that the
 * thread waits, and since when. This holds with an agent from the start and with an attached one.
 * The last profile must have the whole wait and nothing of the dump's provisional entry.
 *
 * @test
 * @summary waits that are not over at a dump
 * @key attach
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=120 UnfinishedWaitsAtDump
 */

import java.nio.file.Path;
import java.util.List;
import java.util.Scanner;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;

import dev.vouch.test.Attach;
import dev.vouch.test.Check;
import dev.vouch.test.Mark;
import dev.vouch.test.Profile;
import dev.vouch.test.Report;
import dev.vouch.test.Running;
import dev.vouch.test.Vm;

public class UnfinishedWaitsAtDump {
    private static final int TRIES = 20;

    public static void main(String[] args) {
        held(Vm.with("events=default").start(Program.class), false);
        held(Vm.without().start(Program.class), true);
    }

    private static void held(Running running, boolean attached) {
        try (Running child = running) {
            child.awaitOut("ready");
            Path dumped = child.dir.resolve("dumped.json");
            Path report = child.dir.resolve("dumped-report.json");
            Path last = child.dir.resolve("last.json");
            try (Attach attach = Attach.to(child)) {
                if (attached) {
                    attach.must("start,out=" + child.dir.resolve("attached.json"));
                }
                child.stdin().println("want");
                double since = Double.parseDouble(child.awaitOut("wants ").split(" ")[1]) / 1e6;
                child.awaitOut("blocked");
                // The JVM reports a thread as blocked a moment before it blocks.
                int tries = 0;
                do {
                    attach.must("dump,out=" + dumped + ",report=" + report);
                    Check.atMost(TRIES, ++tries, "dumps until the JVM has told of the wait");
                } while (Profile.read(dumped).marks("monitor_still_enters").isEmpty());
                stillWaits(Profile.read(dumped), Report.read(report), since, attached);
                // A second dump must report the same wait, with a longer time.
                attach.must("dump,out=" + dumped + ",report=" + report);
                stillWaits(Profile.read(dumped), Report.read(report), since, attached);
                child.stdin().println("let go");
                double got = Double.parseDouble(child.awaitOut("got ").split(" ")[1]) / 1e6;
                attach.must("stop,out=" + last + ",report=" + report);
                wasOver(Profile.read(last), Report.read(report), since, got);
            }
            child.stdin().println("exit");
            child.waitFor();
        }
    }

    private static void stillWaits(Profile profile, Report report, double since, boolean attached) {
        List<Mark> marks = profile.marks("monitor_still_enters");
        Check.equal(1, marks.size(), "threads that still wait for a lock");
        Mark mark = marks.get(0);
        Check.equal("wanter", mark.track.name, "who waits");
        Check.atLeast(since - 0.001, mark.startMs, "since when");
        Check.that(mark.has("UnfinishedWaitsAtDump$Program.want"), "where: " + mark.stack);
        JsonArray waiting = report.json.getAsJsonArray("waiting");
        Check.equal(1, waiting.size(), "threads that the report has waiting");
        JsonObject row = waiting.get(0).getAsJsonObject();
        Check.equal("wanter", row.get("thread").getAsString(), "who waits, in the report");
        if (!attached) {
            Check.equal("UnfinishedWaitsAtDump$Program$Lock", row.get("class").getAsString(), "for what");
            // An older JVM may crash if the agent asks it for the owner.
            Check.equal(Vm.major() < 17, row.get("owner").isJsonNull(), "that it is told who has it");
            Check.that(Vm.major() < 17 || row.get("owner").getAsString().equals("holder"), "who has it");
        }
        Check.that(profile.marks("monitor_enter").stream().noneMatch(enter -> enter.track.name.equals("wanter")), "it has not got it");
    }

    private static void wasOver(Profile profile, Report report, double since, double got) {
        Check.empty(profile.marks("monitor_still_enters"), "threads that still wait");
        Check.equal(0, report.json.getAsJsonArray("waiting").size(), "threads that the report has waiting");
        List<Mark> marks = profile.marks("monitor_enter");
        marks.removeIf(mark -> !mark.track.name.equals("wanter"));
        Check.equal(1, marks.size(), "times that it waited");
        Check.between(since - 0.001, marks.get(0).startMs, got, "when it began to");
        Check.atMost(got + 0.001, marks.get(0).endMs, "when it had it");
        Check.equal(Vm.major() >= 17, marks.get(0).says("owner"), "that it is told who held it");
        Check.that(Vm.major() < 17 || marks.get(0).says("owner", "holder"), "who held it: " + marks.get(0).data);
        double longest = report.json.getAsJsonObject("events").getAsJsonObject("monitor").get("longest_ms").getAsDouble();
        Check.atLeast(marks.get(0).ms() - 0.01, longest, "the whole wait counts, in ms");
    }

    static class Program {
        static class Lock {}

        private static final Object LOCK = new Lock();

        public static void main(String[] args) throws InterruptedException {
            Scanner in = new Scanner(System.in);
            Object letGo = new Object();
            Thread holder = new Thread(() -> {
                synchronized (LOCK) {
                    System.out.println("ready");
                    synchronized (letGo) {
                        try {
                            letGo.wait();
                        } catch (InterruptedException unexpected) {
                            throw new AssertionError(unexpected);
                        }
                    }
                }
            }, "holder");
            holder.start();
            in.nextLine();
            Thread wanter = new Thread(Program::want, "wanter");
            wanter.start();
            while (wanter.getState() != Thread.State.BLOCKED) {
                Thread.sleep(1);
            }
            System.out.println("blocked");
            in.nextLine();
            synchronized (letGo) {
                letGo.notifyAll();
            }
            in.nextLine();
        }

        static void want() {
            System.out.println("wants " + System.nanoTime());
            synchronized (LOCK) {
                System.out.println("got " + System.nanoTime());
            }
        }
    }
}
