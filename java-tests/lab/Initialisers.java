/*
 * The JVM runs a class initialiser in the midst of the first instruction or library call that uses
 * the class.
 *
 * Each case initialises its own class, once. C1 compiles an instruction with an unresolved class
 * into a stub call, which reaches the initialiser through the JVM. C2 leaves such an instruction to
 * the interpreter.
 *
 * @test
 * @summary static initialisers that bytecode, reflection, method handles and initialisers start
 * @library /lib
 * @build dev.vouch.test.* dev.vouch.lab.* dev.vouch.Oracle
 * @run main Initialisers
 */

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import dev.vouch.lab.Ask;
import dev.vouch.lab.Lab;
import dev.vouch.lab.Mode;
import dev.vouch.lab.Route;
import dev.vouch.lab.Scenario;

public class Initialisers extends Scenario {
    public static void main(String[] args) throws Throwable {
        Lab.main(new Initialisers(), args);
    }

    @Override
    protected String[] cases() {
        return new String[] {
            "invokestatic", "getstatic", "putstatic", "new", "compiled-invokestatic", "compiled-getstatic", "compiled-new",
            "nested", "superclass", "interface", "enum", "for-name", "method", "field", "handle",
        };
    }

    @Override
    protected String[] flags(String name) {
        List<String> flags = new ArrayList<>(Arrays.asList(Route.flags(name.startsWith("compiled"))));
        flags.add("-XX:CompileCommand=dontinline,Initialisers.*");
        return flags.toArray(new String[0]);
    }

    @Override
    protected String unfit(String name, int jdk, Mode mode) {
        return Route.unfit(name.startsWith("compiled"), mode);
    }

    @Override
    protected void run(String name) throws Throwable {
        switch (name) {
            case "invokestatic":
                Ask.truth("Ask.here", "Called.<clinit>", "Initialisers.call", "Initialisers.run", "Initialisers.main");
                call();
                break;
            case "getstatic":
                Ask.truth("Ask.here", "Got.<clinit>", "Initialisers.get", "Initialisers.run", "Initialisers.main");
                get();
                break;
            case "putstatic":
                Ask.truth("Ask.here", "Put.<clinit>", "Initialisers.put", "Initialisers.run", "Initialisers.main");
                put();
                break;
            case "new":
                Ask.truth("Ask.here", "Made.<clinit>", "Initialisers.make", "Initialisers.run", "Initialisers.main");
                make();
                break;
            case "compiled-invokestatic":
                Ask.truth("Ask.here", "CalledLate.<clinit>", "LateCall.go", "Initialisers.run", "Initialisers.main");
                new LateCall().warm();
                break;
            case "compiled-getstatic":
                Ask.truth("Ask.here", "GotLate.<clinit>", "LateGet.go", "Initialisers.run", "Initialisers.main");
                new LateGet().warm();
                break;
            case "compiled-new":
                Ask.truth("Ask.here", "MadeLate.<clinit>", "LateNew.go", "Initialisers.run", "Initialisers.main");
                new LateNew().warm();
                break;
            case "nested":
                Ask.truth("Ask.here", "Innermost.<clinit>", "Inner.<clinit>", "Outer.<clinit>", "Initialisers.outer", "Initialisers.run");
                outer();
                break;
            case "superclass":
                Ask.truth("Ask.here", "Super.<clinit>", "Initialisers.sub", "Initialisers.run", "Initialisers.main");
                sub();
                break;
            case "interface":
                Ask.truth("Ask.here", "Asking.<clinit>", "Faced.<clinit>", "Initialisers.implementing", "Initialisers.run");
                implementing();
                break;
            case "enum":
                Ask.truth("Ask.here", "Numeral.<init>", "Numeral.<clinit>", "Initialisers.numeral", "Initialisers.run");
                numeral();
                break;
            case "for-name":
                Ask.truth("Ask.here", "Named.<clinit>", "Class.forName", "Initialisers.forName", "Initialisers.run");
                forName();
                break;
            case "method":
                Ask.truth("Ask.here", "Invoked.<clinit>", "Method.invoke", "Initialisers.invoke", "Initialisers.run");
                invoke(Invoked.class.getMethod("touch"));
                break;
            case "field":
                Ask.truth("Ask.here", "Fetched.<clinit>", "Field.get", "Initialisers.fetch", "Initialisers.run");
                fetch(Fetched.class.getField("value"));
                break;
            case "handle":
                MethodType nothing = MethodType.methodType(void.class);
                Ask.truth("Ask.here", "Handled.<clinit>", "Initialisers.handle", "Initialisers.run");
                handle(MethodHandles.lookup().findStatic(Handled.class, "touch", nothing));
                break;
            default:
                throw new AssertionError(name);
        }
    }

    // Each instruction is in a separate method that is not inlined, so no other case can deoptimise
    // it.

    private static void call() {
        Called.touch();
    }

    private static int get() {
        return Got.value;
    }

    private static void put() {
        Put.value = 1;
    }

    private static Object make() {
        return new Made();
    }

    private static void outer() {
        Outer.touch();
    }

    private static void sub() {
        Sub.touch();
    }

    private static Object implementing() {
        return new Implementing();
    }

    private static Object numeral() {
        return Numeral.ONE;
    }

    private static void forName() throws ReflectiveOperationException {
        Class.forName(Initialisers.class.getName() + "$Named");
    }

    private static void invoke(Method method) throws ReflectiveOperationException {
        method.invoke(null);
    }

    private static void fetch(Field field) throws ReflectiveOperationException {
        field.get(null);
    }

    private static void handle(MethodHandle handle) throws Throwable {
        handle.invokeExact();
    }

    private static class Called {
        static {
            Ask.here();
        }

        static void touch() {}
    }

    private static class Got {
        static int value = Integer.parseInt("1");

        static {
            Ask.here();
        }
    }

    private static class Put {
        static int value = Integer.parseInt("1");

        static {
            Ask.here();
        }
    }

    private static class Made {
        static {
            Ask.here();
        }
    }

    private static class CalledLate {
        static {
            Ask.here();
        }

        static void touch() {}
    }

    private static class GotLate {
        static int value = Integer.parseInt("1");

        static {
            Ask.here();
        }
    }

    private static class MadeLate {
        static {
            Ask.here();
        }
    }

    /** A compiled caller that has not used the class yet. */
    private abstract static class Late extends Route {
        boolean now;

        @Override
        protected final void ready() {
            now = true;
        }
    }

    private static final class LateCall extends Late {
        @Override
        protected void go() {
            if (now) {
                CalledLate.touch();
            }
        }
    }

    private static final class LateGet extends Late {
        int got;

        @Override
        protected void go() {
            if (now) {
                got = GotLate.value;
            }
        }
    }

    private static final class LateNew extends Late {
        Object made;

        @Override
        protected void go() {
            if (now) {
                made = new MadeLate();
            }
        }
    }

    private static class Outer {
        static {
            Inner.touch();
        }

        static void touch() {}
    }

    private static class Inner {
        static {
            Innermost.touch();
        }

        static void touch() {}
    }

    private static class Innermost {
        static {
            Ask.here();
        }

        static void touch() {}
    }

    private static class Super {
        static {
            Ask.here();
        }
    }

    private static class Sub extends Super {
        static void touch() {}
    }

    /** Has a default method, so that initialising an implementing class initialises it too. */
    private interface Faced {
        Object ASKING = Asking.touch();

        default void face() {}
    }

    private static class Asking {
        static {
            Ask.here();
        }

        static Object touch() {
            return null;
        }
    }

    private static class Implementing implements Faced {}

    private enum Numeral {
        ONE;

        Numeral() {
            Ask.here();
        }
    }

    private static class Named {
        static {
            Ask.here();
        }
    }

    /** Public, so that reflection needs no further access checks. */
    public static class Invoked {
        static {
            Ask.here();
        }

        public static void touch() {}
    }

    public static class Fetched {
        public static int value = Integer.parseInt("1");

        static {
            Ask.here();
        }
    }

    private static class Handled {
        static {
            Ask.here();
        }

        static void touch() {}
    }
}
