/*
 * Native methods call back into Java in each of JNI's ways. The calls nest, throw, come from
 * compiled code or enter it, and run on threads that C created.
 *
 * @test
 * @summary up-calls through JNI
 * @library /lib
 * @build dev.vouch.test.* dev.vouch.lab.* dev.vouch.Oracle
 * @run main/timeout=300 Jni
 */

import java.nio.file.Path;
import java.util.List;

import dev.vouch.lab.Ask;
import dev.vouch.lab.Lab;
import dev.vouch.lab.Mode;
import dev.vouch.lab.Route;
import dev.vouch.lab.Scenario;
import dev.vouch.test.CCompiler;

public class Jni extends Scenario {
    private static final String[] CALLS = {"static", "virtual", "nonvirtual", "constructor", "locked", "nested", "cleared",
        "passed", "failed", "from-handler"};
    private static final int LEVELS = 4;

    /** The parent process builds the library once; in a child this is null. */
    private static Path library;

    public static void main(String[] args) throws Throwable {
        Lab.main(new Jni(), args);
    }

    @Override
    protected String[] cases() {
        List<String> cases = Route.both(CALLS);
        cases.add("initialiser");
        cases.add("attached");
        cases.add("attached-nested");
        cases.add("attached-compiled");
        return cases.toArray(new String[0]);
    }

    @Override
    protected String[] flags(String name) {
        if (library == null) {
            library = CCompiler.library("jni");
        }
        return new String[] {"-XX:+PrintCompilation", "-XX:CompileCommand=dontinline,Jni*::go", "-Dlab.library=" + library};
    }

    @Override
    protected String unfit(String name, int jdk, Mode mode) {
        boolean compiled = name.endsWith("warm") || name.endsWith("compiled");
        return compiled && !mode.compiles() ? "nothing is compiled" : null;
    }

    @Override
    protected void run(String name) throws Throwable {
        System.load(System.getProperty("lab.library"));
        switch (name) {
            case "initialiser":
                Ask.truth("Ask.here", "Initialised.<clinit>", "Jni.initialise", "Jni.run", "Jni.main");
                initialise(Initialised.class);
                break;
            case "attached":
                Ask.truth("Ask.here", "Jni.down");
                attach(0);
                break;
            case "attached-nested":
                nestedTruth();
                attach(LEVELS);
                break;
            case "attached-compiled":
                nestedTruth();
                new Nested().warm();
                attach(LEVELS);
                break;
            default:
                String call = name.substring(0, name.lastIndexOf('-'));
                Route route = route(call);
                if (name.endsWith("cold")) {
                    route.cold();
                } else {
                    route.warm();
                }
        }
    }

    /** Creates the route, and declares what must be on the stack. */
    private static Route route(String call) {
        switch (call) {
            case "static":
                Ask.truth("Ask.here", "Jni.asks", "Jni.callStatic", "Static.go", "Jni.run", "Jni.main");
                return new Static();
            case "virtual":
                Ask.truth("Ask.here", "Asker.run", "Jni.callVirtual", "Virtual.go", "Jni.run", "Jni.main");
                return new Virtual();
            case "nonvirtual":
                Ask.truth("Ask.here", "Asker.run", "Jni.callNonvirtual", "Nonvirtual.go", "Jni.run", "Jni.main");
                return new Nonvirtual();
            case "constructor":
                Ask.truth("Ask.here", "Made.<init>", "Jni.newObject", "Constructed.go", "Jni.run", "Jni.main");
                return new Constructed();
            case "locked":
                Ask.truth("Ask.here", "Jni.asks", "Jni.callLocked", "Locked.go", "Jni.run", "Jni.main");
                return new Locked();
            case "nested":
                nestedTruth();
                return new Nested();
            case "cleared":
                Ask.truth("Ask.here", "Jni.asks", "Jni.clearThenCall", "Cleared.go", "Jni.run", "Jni.main");
                return new Cleared();
            case "passed":
                Ask.truth("Ask.here", "Passed.go", "Jni.run", "Jni.main");
                return new Passed();
            case "failed":
                Ask.truth("Ask.here", "Failed.go", "Jni.run", "Jni.main");
                return new Failed();
            case "from-handler":
                Ask.truth("Ask.here", "Jni.asks", "Jni.callStatic", "FromHandler.go", "Jni.run", "Jni.main");
                return new FromHandler();
            default:
                throw new AssertionError(call);
        }
    }

    private static void compiled(String method) {
        Ask.needs(" [14] +Jni::" + method + " \\(\\d+ bytes\\)$");
    }

    /** PrintCompilation marks the wrapper of a native method with an n. */
    private static void compiledNative(String method) {
        Ask.needs(" n .* Jni::" + method + " \\(native\\)");
    }

    private static void nestedTruth() {
        Ask.truth("Ask.here", "Jni.down", "Jni.up", "Jni.down", "Jni.up", "Jni.down", "Jni.up", "Jni.down", "Jni.up", "Jni.down");
    }

    static native void callStatic();

    static native void callVirtual(Runnable to);

    static native void callNonvirtual(Runnable to, Class<?> in);

    static native Object newObject(Class<?> made);

    static native void initialise(Class<?> initialised);

    static native void up(int left);

    static native synchronized void callLocked();

    static native boolean clearThenCall();

    static native void pass();

    static native void fail();

    static native void attach(int left);

    static void asks() {
        Ask.here();
    }

    static void fails() {
        throw new IllegalStateException("meant");
    }

    static void down(int left) {
        if (left > 0) {
            up(left - 1);
        } else {
            Ask.here();
        }
    }

    static class Asker implements Runnable {
        @Override
        public void run() {
            Ask.here();
        }
    }

    /** A non-virtual call must reach the overridden method instead of this one. */
    static final class Overrides extends Asker {
        @Override
        public void run() {
            throw new IllegalStateException("this must not be called");
        }
    }

    static final class Made {
        Made() {
            Ask.here();
        }
    }

    static final class Initialised {
        static {
            Ask.here();
        }

        static void nothing() {}
    }

    static final class Static extends Route {
        @Override
        protected void go() {
            callStatic();
        }

        @Override
        protected void ready() {
            compiledNative("callStatic");
            compiled("asks");
        }
    }

    static final class Virtual extends Route {
        private final Runnable asker = new Asker();

        @Override
        protected void go() {
            callVirtual(asker);
        }

        @Override
        protected void ready() {
            compiledNative("callVirtual");
        }
    }

    static final class Nonvirtual extends Route {
        private final Runnable overrides = new Overrides();

        @Override
        protected void go() {
            callNonvirtual(overrides, Asker.class);
        }

        @Override
        protected void ready() {
            compiledNative("callNonvirtual");
        }
    }

    static final class Constructed extends Route {
        @Override
        protected void go() {
            newObject(Made.class);
        }

        @Override
        protected void ready() {
            compiledNative("newObject");
        }
    }

    static final class Locked extends Route {
        @Override
        protected void go() {
            callLocked();
        }

        @Override
        protected void ready() {
            compiledNative("callLocked");
        }
    }

    static final class Nested extends Route {
        @Override
        protected void go() {
            down(LEVELS);
        }

        @Override
        protected void ready() {
            compiledNative("up");
            compiled("down");
        }
    }

    static final class Cleared extends Route {
        @Override
        protected void go() {
            Ask.trigger(clearThenCall(), "the call threw nothing");
        }

        @Override
        protected void ready() {
            compiledNative("clearThenCall");
        }
    }

    /** The exception goes from Java through C back into Java. */
    static final class Passed extends Route {
        @Override
        protected void go() {
            try {
                pass();
            } catch (IllegalStateException meant) {
                Ask.here();
            }
        }

        @Override
        protected void ready() {
            compiledNative("pass");
        }
    }

    static final class Failed extends Route {
        @Override
        protected void go() {
            try {
                fail();
            } catch (IllegalStateException meant) {
                Ask.here();
            }
        }

        @Override
        protected void ready() {
            compiledNative("fail");
        }
    }

    /** A handler of one native method's exception calls another native method. */
    static final class FromHandler extends Route {
        @Override
        protected void go() {
            try {
                fail();
            } catch (IllegalStateException meant) {
                callStatic();
            }
        }
    }
}
