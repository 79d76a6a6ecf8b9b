/*
 * Code that was compiled before the attach must be in the graph of compiled code, and its later
 * fate in the profile. On attach, the JVM reports this code again as if it were new.
 *
 * @test
 * @key attach newest
 * @summary the profile has code that was compiled before the attach, and its deoptimisation
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=300 OldCode
 */

import java.util.List;
import java.util.Scanner;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

import dev.vouch.test.Attach;
import dev.vouch.test.Check;
import dev.vouch.test.Mark;
import dev.vouch.test.Profile;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Skip;
import dev.vouch.test.Vm;

public class OldCode {
    private static final String HOT = "OldCode$Program.hot";
    private static final String COLD = "OldCode$Program.cold";
    /** The JVM reports compiled code some milliseconds late. */
    private static final int MOST_LOOKS = 200;

    public static void main(String[] args) {
        Run run;
        try (Running child = Vm.without().flags("-Xmx256m", "-Xbatch").start(Program.class)) {
            child.awaitOut("ready");
            try (Attach attach = Attach.to(child)) {
                attach.must("events=jit+deopt,out=profile.json,report=report.json");
                child.stdin().println("go on");
                child.awaitOut("gone on");
                untilTold(child, attach);
            }
            child.stdin().println("end");
            run = child.waitFor().ok();
        }
        Skip.unless(!run.report().vmFlags().contains("-Xint"), "an interpreter compiles nothing");
        Profile profile = run.profile();
        List<Mark> old = profile.marks("code_given_up", "method", HOT);
        Check.equal(1, old.size(), "times that old code was given up");
        Check.equal(4, old.get(0).number("tier"), "whose code it was");
        Check.equal(0, profile.marks("compilation", "method", HOT).size(), "times that it was compiled meanwhile");
        Check.that(!profile.marks("compilation", "method", COLD).isEmpty(), "what is compiled since then is told");
        JsonObject graph = profile.json.getAsJsonArray("counters").get(0).getAsJsonObject();
        Check.equal("Compiled code", graph.get("name").getAsString(), "the graph");
        JsonArray changes = graph.getAsJsonObject("samples").getAsJsonArray("count");
        long first = changes.get(0).getAsLong();
        long last = 0;
        for (JsonElement change : changes) {
            last += change.getAsLong();
        }
        // A range in which the compiled code of a freshly started JVM falls.
        Check.between(20_000, first, last, "bytes of compiled code at first");
    }

    private static void untilTold(Running child, Attach attach) {
        for (int look = 0; look < MOST_LOOKS; look++) {
            attach.must("dump,quiet,out=dump.json,report=dump-report.json");
            Profile soFar = Profile.read(child.dir.resolve("dump.json"));
            if (!soFar.marks("compilation", "method", COLD).isEmpty()) {
                return;
            }
        }
        Skip.unless(false, "an interpreter compiles nothing, or tells of it very late");
    }

    static class Program {
        static class Base {
            int value() {
                return 1;
            }
        }

        static class Other extends Base {
            @Override
            int value() {
                return 2;
            }
        }

        public static void main(String[] args) throws Exception {
            Base base = new Base();
            long sum = 0;
            for (int i = 0; i < 200_000; i++) {
                sum += hot(base, i);
            }
            System.out.println("ready");
            Scanner in = new Scanner(System.in);
            in.nextLine();
            for (int i = 0; i < 200_000; i++) {
                sum += cold(i);
            }
            Class.forName("OldCode$Program$Other");
            System.out.println("gone on: " + sum);
            in.nextLine();
        }

        static int hot(Base base, int i) {
            return base.value() ^ i;
        }

        static int cold(int i) {
            return Integer.reverse(i) ^ i;
        }
    }
}
