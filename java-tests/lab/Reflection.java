/*
 * Reflection: Method.invoke, Constructor.newInstance and Class.newInstance, through each of the
 * JDK's accessors.
 *
 * Until JDK 17 a reflective call uses a native accessor first, and a generated class from the 16th
 * call on. Since JDK 18 it uses a method handle. Flags choose the accessor, and its frame on the
 * stack confirms the choice. A reflective call revealed JDK-8302320 (see MethodHandles).
 *
 * @test
 * @summary reflective calls by native, generated and method-handle accessors, cold and compiled
 * @library /lib
 * @build dev.vouch.test.* dev.vouch.lab.* dev.vouch.Oracle
 * @run main Reflection
 */

import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import dev.vouch.lab.Ask;
import dev.vouch.lab.Lab;
import dev.vouch.lab.Mode;
import dev.vouch.lab.Route;
import dev.vouch.lab.Scenario;
import dev.vouch.test.Vm;

public class Reflection extends Scenario {
    private static final String[] STATES = {"-cold", "-warm"};
    private static final String[] ACCESSORS = {"native", "generated", "handle"};
    private static final String[] CALLS = {"static", "instance", "interface", "constructor", "class", "nested", "of-invoke"};

    /** More calls than a native accessor serves. */
    private static final int UNTIL_INFLATED = 20;

    public static void main(String[] args) throws Throwable {
        Lab.main(new Reflection(), args);
    }

    @Override
    protected String[] cases() {
        List<String> cases = new ArrayList<>();
        for (String state : STATES) {
            for (String accessor : ACCESSORS) {
                for (String call : CALLS) {
                    cases.add(accessor + "-" + call + state);
                }
            }
        }
        cases.add("inflation");
        return cases.toArray(new String[0]);
    }

    @Override
    protected String[] flags(String name) {
        List<String> flags = new ArrayList<>(Arrays.asList(Route.flags(name.endsWith("-warm"))));
        int jdk = Vm.major();
        if (name.startsWith("native")) {
            flags.add("-Dsun.reflect.inflationThreshold=2147483647");
            flags.add("-Djdk.reflect.useNativeAccessorOnly=true");
        } else if (name.startsWith("generated")) {
            flags.add("-Dsun.reflect.noInflation=true");
        }
        boolean choosable = 18 <= jdk && jdk <= 21;
        if (choosable && (name.startsWith("generated") || name.equals("inflation"))) {
            flags.add("-Djdk.reflect.useDirectMethodHandle=false");
        }
        return flags.toArray(new String[0]);
    }

    @Override
    protected String unfit(String name, int jdk, Mode mode) {
        if (name.startsWith("handle") && jdk < 18) {
            return "reflection uses method handles since JDK 18";
        }
        if (name.startsWith("native-of-invoke") && jdk >= 18) {
            return "since JDK 18 the native accessor refuses to call Method.invoke";
        }
        boolean gone = name.startsWith("generated") || name.equals("inflation");
        if (gone && jdk > 21) {
            return "JDK 22 has no generated accessors any more";
        }
        return Route.unfit(name.endsWith("-warm"), mode);
    }

    @Override
    protected void run(String name) throws Throwable {
        if (name.equals("inflation")) {
            Ask.truth("Ask.here", "Reflection$Target.tell", "Method.invoke", "Reflection.inflate", "Reflection.run");
            inflate();
            return;
        }
        String accessor = name.substring(0, name.indexOf('-'));
        String call = name.substring(accessor.length() + 1, name.lastIndexOf('-'));
        Route route = route(call, accessor);
        if (name.endsWith("cold")) {
            route.cold();
        } else {
            route.warm();
        }
    }

    /** The frame by which the accessor is recognised. No JDK hides this frame. */
    private static String frameOf(String accessor, boolean constructs) {
        boolean directHandles = Vm.major() >= 18;
        switch (accessor) {
            case "native":
                if (directHandles) {
                    return constructs ? "DirectConstructorHandleAccessor$NativeAccessor.newInstance0"
                        : "DirectMethodHandleAccessor$NativeAccessor.invoke0";
                }
                return constructs ? "NativeConstructorAccessorImpl.newInstance0" : "NativeMethodAccessorImpl.invoke0";
            case "generated":
                return constructs ? "GeneratedConstructorAccessor*.newInstance" : "GeneratedMethodAccessor*.invoke";
            default:
                return constructs ? "DirectConstructorHandleAccessor.newInstance" : "DirectMethodHandleAccessor.invoke";
        }
    }

    private static Route route(String call, String accessor) throws ReflectiveOperationException {
        String invoked = frameOf(accessor, false);
        String made = frameOf(accessor, true);
        switch (call) {
            case "static":
                Ask.truth("Ask.here", "Target.ask", invoked, "Method.invoke", "Static.go", "Reflection.run");
                return new Static();
            case "instance":
                Ask.truth("Ask.here", "Target.sum", invoked, "Method.invoke", "Instance.go", "Reflection.run");
                return new Instance();
            case "interface":
                Ask.truth("Ask.here", "Target.run", invoked, "Method.invoke", "Interface.go", "Reflection.run");
                return new Interface();
            case "constructor":
                Ask.truth("Ask.here", "Made.<init>", made, "Constructor.newInstance", "Constructed.go", "Reflection.run");
                return new Constructed();
            case "class":
                Ask.truth("Ask.here", "Bare.<init>", made, "Class.newInstance", "Classed.go", "Reflection.run");
                return new Classed();
            case "nested":
                Ask.truth("Ask.here", "Target.ask", invoked, "Method.invoke", "Target.inner", invoked, "Method.invoke",
                    "Nested.go", "Reflection.run");
                return new Nested();
            case "of-invoke":
                Ask.truth("Ask.here", "Target.ask", invoked, "Method.invoke", invoked, "Method.invoke", "OfInvoke.go",
                    "Reflection.run");
                return new OfInvoke();
            default:
                throw new AssertionError(call);
        }
    }

    /** Calls one method again and again: its accessor is native at first, then generated. */
    private static void inflate() throws ReflectiveOperationException {
        Method tell = Target.class.getMethod("tell");
        for (int i = 0; i < UNTIL_INFLATED; i++) {
            tell.invoke(null);
        }
        Ask.trigger(Target.nativeCalls > 0, "the first calls did not go through a native accessor");
        Ask.trigger(Target.generatedCalls > 0, "the last calls did not go through a generated accessor");
    }

    /** The called class is public, so that reflection needs no further access checks. */
    public static final class Target implements Runnable {
        static int nativeCalls;
        static int generatedCalls;

        public static void ask() {
            Ask.here();
        }

        public static void tell() {
            String caller = new Throwable().getStackTrace()[1].getClassName();
            nativeCalls += caller.contains(".Native") ? 1 : 0;
            generatedCalls += caller.contains(".Generated") ? 1 : 0;
            Ask.here();
        }

        public static void inner() throws ReflectiveOperationException {
            Nested.INNERMOST.invoke(null);
        }

        public long sum(int small, double wide, Long boxed, Object any) {
            Ask.here();
            return small + (long) wide + boxed;
        }

        @Override
        public void run() {
            Ask.here();
        }
    }

    /** Is constructed with arguments. */
    public static final class Made {
        public Made(int small, double wide, Object any) {
            Ask.here();
        }
    }

    /** Is constructed without arguments. */
    public static final class Bare {
        public Bare() {
            Ask.here();
        }
    }

    private static final class Static extends Route {
        private static final Method ASK = method(Target.class, "ask");

        @Override
        protected void go() throws Throwable {
            ASK.invoke(null);
        }
    }

    /** Boxed arguments and a boxed result. */
    private static final class Instance extends Route {
        private static final Method SUM = method(Target.class, "sum", int.class, double.class, Long.class, Object.class);
        private final Target target = new Target();

        @Override
        protected void go() throws Throwable {
            SUM.invoke(target, 1, 2.0, 3L, this);
        }
    }

    private static final class Interface extends Route {
        private static final Method RUN = method(Runnable.class, "run");
        private final Target target = new Target();

        @Override
        protected void go() throws Throwable {
            RUN.invoke(target);
        }
    }

    private static final class Constructed extends Route {
        private final Constructor<Made> maker;

        Constructed() throws ReflectiveOperationException {
            maker = Made.class.getConstructor(int.class, double.class, Object.class);
        }

        @Override
        protected void go() throws Throwable {
            maker.newInstance(1, 2.0, this);
        }
    }

    private static final class Classed extends Route {
        @Override
        @SuppressWarnings("deprecation")
        protected void go() throws Throwable {
            Bare.class.newInstance();
        }
    }

    private static final class Nested extends Route {
        static final Method INNERMOST = method(Target.class, "ask");
        private static final Method INNER = method(Target.class, "inner");

        @Override
        protected void go() throws Throwable {
            INNER.invoke(null);
        }
    }

    /** Method.invoke calls Method.invoke. */
    private static final class OfInvoke extends Route {
        private static final Method ASK = method(Target.class, "ask");
        private static final Method INVOKE = method(Method.class, "invoke", Object.class, Object[].class);
        private static final Object[] NOTHING = new Object[0];

        @Override
        protected void go() throws Throwable {
            INVOKE.invoke(ASK, null, NOTHING);
        }
    }

    private static Method method(Class<?> owner, String name, Class<?>... parameters) {
        try {
            return owner.getMethod(name, parameters);
        } catch (NoSuchMethodException error) {
            throw new AssertionError(error);
        }
    }
}
