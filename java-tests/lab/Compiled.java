/*
 * All kinds of compiled code. Calls are inlined, guarded or looked up, and an intrinsic calls back
 * into Java. The compiler eliminates objects and locks. A loop's code is replaced while it runs,
 * and some code is compiled without tiers. (For deoptimised code see Deoptimised.)
 *
 * @test
 * @summary inlined, polymorphic, intrinsic, scalar-replaced, replaced and untiered code
 * @library /lib
 * @build dev.vouch.test.* dev.vouch.lab.* dev.vouch.Oracle
 * @run main/timeout=300 Compiled
 */

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import dev.vouch.lab.Ask;
import dev.vouch.lab.Lab;
import dev.vouch.lab.Mode;
import dev.vouch.lab.Route;
import dev.vouch.lab.Scenario;
import dev.vouch.test.Vm;

public class Compiled extends Scenario {
    private static final List<String> NEED_A_PROFILE = Arrays.asList("inlined", "one-receiver", "two-receivers");
    /**
     * Without tiers a method is compiled after 10,000 calls, and four receivers share these calls.
     */
    private static final int WARM = 60_000;
    private static final int ROUNDS = 200_000;

    public static void main(String[] args) throws Throwable {
        Lab.main(new Compiled(), args);
    }

    @Override
    protected String[] cases() {
        return new String[] {"inlined", "one-receiver", "two-receivers", "many-receivers", "many-interface", "hash-code", "scalar",
            "loop", "untiered-inlined", "untiered-many-receivers", "untiered-scalar", "untiered-loop"};
    }

    @Override
    protected String[] flags(String name) {
        List<String> flags = new ArrayList<>(Arrays.asList("-XX:+PrintCompilation", "-XX:+UnlockDiagnosticVMOptions",
            "-XX:CompileCommand=dontinline,Compiled*::go", inlining("Compiled*::go")));
        if (name.startsWith("untiered")) {
            flags.add("-XX:-TieredCompilation");
        }
        return flags.toArray(new String[0]);
    }

    /** Prints the inlining of one method; for all methods the output would be huge. */
    private static String inlining(String method) {
        return "-XX:CompileCommand=" + (Vm.major() < 16 ? "option," + method + ",PrintInlining" : "PrintInlining," + method);
    }

    @Override
    protected String unfit(String name, int jdk, Mode mode) {
        if (!mode.compiles()) {
            return "nothing is compiled";
        }
        if (mode == Mode.C1 && (name.startsWith("untiered") || name.equals("scalar"))) {
            return "only C2 does that";
        }
        boolean byProfile = name.startsWith("untiered") || NEED_A_PROFILE.contains(name);
        return mode == Mode.XCOMP && byProfile ? "C2 compiles the first call, and without a profile inlines and replaces nothing" : null;
    }

    @Override
    protected void run(String name) throws Throwable {
        boolean untiered = name.startsWith("untiered");
        String what = untiered ? name.substring("untiered-".length()) : name;
        if (what.equals("loop")) {
            Ask.truth("Ask.here", "Compiled.loop", "Compiled.run", "Compiled.main");
            Ask.needs("%[s!bn ]+" + (untiered ? "" : "[14] +") + "Compiled::loop @ \\d+ \\(\\d+ bytes\\)$");
            loop(depths());
            return;
        }
        Kind kind = kind(what);
        if (!untiered) {
            kind.warm();
            return;
        }
        Ask.unarmed();
        for (int i = 0; i < WARM; i++) {
            kind.go();
        }
        Ask.armed();
        kind.ready();
        // Without tiers the JVM prints no level.
        Ask.needs("[s!bn ]+Compiled\\$" + kind.getClass().getSimpleName() + "::go \\(\\d+ bytes\\)$");
        kind.go();
    }

    private static Kind kind(String what) {
        switch (what) {
            case "inlined":
                Ask.truth("Ask.here", "Inlined.h", "Inlined.g", "Inlined.f", "Inlined.e", "Inlined.d", "Inlined.c", "Inlined.b",
                    "Inlined.a", "Inlined.go", "Compiled.run", "Compiled.main");
                return new Inlined();
            case "one-receiver":
                Ask.truth("Ask.here", "Asks1.run", "Receivers.go", "Compiled.run", "Compiled.main");
                return new Receivers(1);
            case "two-receivers":
                Ask.truth("Ask.here", "Asks*.run", "Receivers.go", "Compiled.run", "Compiled.main");
                return new Receivers(2);
            case "many-receivers":
                Ask.truth("Ask.here", "Asks*.run", "Receivers.go", "Compiled.run", "Compiled.main");
                return new Receivers(4);
            case "many-interface":
                Ask.truth("Ask.here", "Asks*.run", "Interfaces.go", "Compiled.run", "Compiled.main");
                return new Interfaces();
            case "hash-code":
                Ask.truth("Ask.here", "Asks*.hashCode", "HashCode.go", "Compiled.run", "Compiled.main");
                return new HashCode();
            case "scalar":
                Ask.truth("Ask.here", "Scalar.go", "Compiled.run", "Compiled.main");
                return new Scalar();
            default:
                throw new AssertionError(what);
        }
    }

    /**
     * The depth of each round's question: 0 means none. A branch instead would cause an uncommon
     * trap in the compiled loop.
     */
    private static int[] depths() {
        int[] depths = new int[ROUNDS];
        depths[ROUNDS - 1] = Ask.DEEP;
        return depths;
    }

    static void loop(int[] depths) {
        for (int depth : depths) {
            Ask.armed(depth);
            Ask.here();
        }
    }

    /** True if this JVM has no C2. */
    private static boolean c1Alone() {
        return ManagementFactory.getRuntimeMXBean().getInputArguments().contains("-XX:TieredStopAtLevel=1");
    }

    /** The last compiler must have inlined the method; C1 and C2 print this in different words. */
    private static void inlined(String method) {
        String name = "Compiled\\$" + method + " \\(\\d+ bytes\\)";
        Ask.needs(c1Alone() ? "@ \\d+ +" + name + "( +inline.*)?$" : name + " +inline \\(hot\\)");
    }

    /**
     * C2 must have compiled a virtual call. JDK 8 does not print that. There, a method that is
     * compiled by itself was not inlined.
     */
    private static void lookedUp(String method) {
        Ask.needs(Vm.major() > 8 ? method + " \\(0 bytes\\).* virtual call" : " Compiled\\$Asks4::run \\(\\d+ bytes\\)$");
    }

    abstract static class Kind extends Route {
        @Override
        protected abstract void go();

        @Override
        protected void ready() {}
    }

    static final class Inlined extends Kind {
        @Override
        protected void go() {
            a();
        }

        @Override
        protected void ready() {
            for (String method : new String[] {"a", "b", "c", "d", "e", "f", "g", "h"}) {
                inlined("Inlined::" + method);
            }
        }

        private static void a() {
            b();
        }

        private static void b() {
            c();
        }

        private static void c() {
            d();
        }

        private static void d() {
            e();
        }

        private static void e() {
            f();
        }

        private static void f() {
            g();
        }

        private static void g() {
            h();
        }

        private static void h() {
            Ask.here();
        }
    }

    /** A virtual call with several receivers in turn. */
    static final class Receivers extends Kind {
        private final Asks[] all = {new Asks1(), new Asks2(), new Asks3(), new Asks4()};
        private final int count;
        private int turn;

        Receivers(int count) {
            this.count = count;
        }

        @Override
        protected void go() {
            all[turn++ % count].run();
        }

        /** C1 does not profile receivers here, so each call is looked up. */
        @Override
        protected void ready() {
            if (c1Alone()) {
                return;
            }
            if (count > 2) {
                lookedUp("Compiled\\$Asks::run");
            } else {
                for (int i = 1; i <= count; i++) {
                    inlined("Asks" + i + "::run");
                }
            }
        }
    }

    static final class Interfaces extends Kind {
        private final Runnable[] all = {new Asks1(), new Asks2(), new Asks3(), new Asks4()};
        private int turn;

        @Override
        protected void go() {
            all[turn++ % all.length].run();
        }

        @Override
        protected void ready() {
            if (!c1Alone()) {
                lookedUp("java.lang.Runnable::run");
            }
        }
    }

    /** C2 has an intrinsic for Object.hashCode, which must still call overriding methods. */
    static final class HashCode extends Kind {
        private final Object[] all = {new Object(), new Asks1(), new Asks2(), new Asks3()};
        private int turn;
        private int sum;

        @Override
        protected void go() {
            sum += all[turn++ % all.length].hashCode();
        }

        @Override
        protected void ready() {
            turn = 1;
            if (!c1Alone()) {
                Ask.needs("java.lang.Object::hashCode \\(0 bytes\\) +\\(intrinsic, virtual\\)");
            }
        }
    }

    /**
     * C2 keeps the object in registers and eliminates its lock, since no other thread can reach it.
     */
    static final class Scalar extends Kind {
        private static final int CALLS = 1000;
        private int sum;

        @Override
        protected void go() {
            Pair pair = new Pair(sum, 1);
            synchronized (pair) {
                Ask.here();
                sum = pair.left + pair.right;
            }
        }

        @Override
        protected void ready() {
            com.sun.management.ThreadMXBean threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
            long id = Thread.currentThread().getId();
            Ask.unarmed();
            threads.getThreadAllocatedBytes(id);
            long before = threads.getThreadAllocatedBytes(id);
            for (int i = 0; i < CALLS; i++) {
                go();
            }
            long bytes = threads.getThreadAllocatedBytes(id) - before;
            Ask.armed();
            Ask.trigger(bytes < CALLS, "the objects are allocated");
        }
    }

    static final class Pair {
        final int left;
        final int right;

        Pair(int left, int right) {
            this.left = left;
            this.right = right;
        }
    }

    abstract static class Asks implements Runnable {
        @Override
        public abstract void run();
    }

    static final class Asks1 extends Asks {
        @Override
        public void run() {
            Ask.here();
        }

        @Override
        public int hashCode() {
            Ask.here();
            return 1;
        }
    }

    static final class Asks2 extends Asks {
        @Override
        public void run() {
            Ask.here();
        }

        @Override
        public int hashCode() {
            Ask.here();
            return 2;
        }
    }

    static final class Asks3 extends Asks {
        @Override
        public void run() {
            Ask.here();
        }

        @Override
        public int hashCode() {
            Ask.here();
            return 3;
        }
    }

    static final class Asks4 extends Asks {
        @Override
        public void run() {
            Ask.here();
        }
    }
}
