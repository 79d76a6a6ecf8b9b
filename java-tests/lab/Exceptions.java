/*
 * Questions where exceptions are created, where they are handled, and while they unwind. All come
 * from `throw`. (For exceptions from the JVM itself see ImplicitExceptions; for those from C see
 * Jni.)
 *
 * @test
 * @summary handlers, finally blocks, and what runs while an exception is made
 * @library /lib
 * @build dev.vouch.test.* dev.vouch.lab.* dev.vouch.Oracle
 * @run main/timeout=300 Exceptions
 */

import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.List;

import dev.vouch.lab.Ask;
import dev.vouch.lab.Lab;
import dev.vouch.lab.Mode;
import dev.vouch.lab.Route;
import dev.vouch.lab.Scenario;

public class Exceptions extends Scenario {
    private static final String[] WAYS = {"catch", "finally", "rethrow", "unwind", "locked", "close", "close-after",
        "constructor", "fill", "message", "reflection", "handler-in-handler"};
    private static final int LEVELS = 6;

    public static void main(String[] args) throws Throwable {
        Lab.main(new Exceptions(), args);
    }

    @Override
    protected String[] cases() {
        List<String> cases = Route.both(WAYS);
        cases.add("first-throw");
        return cases.toArray(new String[0]);
    }

    /** Methods that are not inlined have their own compiled frames to unwind. */
    @Override
    protected String[] flags(String name) {
        return new String[] {"-XX:+PrintCompilation", "-XX:CompileCommand=dontinline,Exceptions*::go",
            "-XX:CompileCommand=dontinline,Exceptions::rethrow", "-XX:CompileCommand=dontinline,Exceptions::unwind"};
    }

    @Override
    protected String unfit(String name, int jdk, Mode mode) {
        boolean compiled = name.endsWith("warm") || name.startsWith("first");
        return compiled && !mode.compiles() ? "nothing is compiled" : null;
    }

    @Override
    protected void run(String name) throws Throwable {
        Route route = route(name.startsWith("first") ? name : name.substring(0, name.lastIndexOf('-')));
        if (name.endsWith("cold")) {
            route.cold();
        } else {
            route.warm();
        }
    }

    /** Creates the route, and declares what must be on the stack. */
    private static Route route(String way) throws ReflectiveOperationException {
        switch (way) {
            case "catch":
                Ask.truth("Ask.here", "Catch.go", "Exceptions.run", "Exceptions.main");
                return new Catch();
            case "finally":
                Ask.truth("Ask.here", "Finally.fallsThrough", "Finally.go", "Exceptions.run", "Exceptions.main");
                return new Finally();
            case "rethrow":
                Ask.truth("Ask.here", "Exceptions.rethrow", "Rethrow.go", "Exceptions.run", "Exceptions.main");
                return new Rethrow();
            case "unwind":
                Ask.truth("Ask.here", "Exceptions.unwind", "Exceptions.unwind", "Exceptions.unwind", "Exceptions.unwind",
                    "Unwind.go", "Exceptions.run", "Exceptions.main");
                return new Unwind();
            case "locked":
                Ask.truth("Ask.here", "LeavesLock.go", "Exceptions.run", "Exceptions.main");
                return new LeavesLock();
            case "close":
                Ask.truth("Ask.here", "Closes.close", "Close.go", "Exceptions.run", "Exceptions.main");
                return new Close();
            case "close-after":
                Ask.truth("Ask.here", "Closes.close", "CloseAfter.go", "Exceptions.run", "Exceptions.main");
                return new CloseAfter();
            case "constructor":
                Ask.truth("Ask.here", "AsksWhenMade.<init>", "Constructor.go", "Exceptions.run", "Exceptions.main");
                return new Constructor();
            case "fill":
                Ask.truth("Ask.here", "AsksWhenFilled.fillInStackTrace", "Throwable.<init>", "Exception.<init>", "AsksWhenFilled.<init>",
                    "Fill.go", "Exceptions.run", "Exceptions.main");
                return new Fill();
            case "message":
                Ask.truth("Ask.here", "AsksForMessage.getMessage", "Throwable.getLocalizedMessage", "Throwable.toString", "Throwable.printStackTrace",
                    "Message.go", "Exceptions.run", "Exceptions.main");
                return new Message();
            case "reflection":
                Ask.truth("Ask.here", "Reflection.go", "Exceptions.run", "Exceptions.main");
                return new Reflection();
            case "handler-in-handler":
                Ask.truth("Ask.here", "Within.asks", "Within.go", "Exceptions.run", "Exceptions.main");
                return new Within();
            case "first-throw":
                Ask.truth("Ask.here", "FirstThrow.go", "Exceptions.run", "Exceptions.main");
                return new FirstThrow();
            default:
                throw new AssertionError(way);
        }
    }

    static void fails() {
        throw new IllegalStateException("meant");
    }

    static void failsIf(boolean really) {
        if (really) {
            fails();
        }
    }

    static synchronized void leavesLock() {
        fails();
    }

    static void rethrow(int left) {
        try {
            if (left == 0) {
                fails();
            }
            rethrow(left - 1);
        } catch (IllegalStateException meant) {
            if (left == LEVELS) {
                Ask.here();
            }
            throw meant;
        }
    }

    static void unwind(int left) {
        try {
            if (left == 0) {
                fails();
            }
            unwind(left - 1);
        } finally {
            if (left == LEVELS / 2) {
                Ask.here();
            }
        }
    }

    static final class Closes implements AutoCloseable {
        void nothing() {}

        @Override
        public void close() {
            Ask.here();
        }
    }

    static final class AsksWhenMade extends Exception {
        private static final long serialVersionUID = 1;

        AsksWhenMade() {
            Ask.here();
        }
    }

    static final class AsksWhenFilled extends Exception {
        private static final long serialVersionUID = 1;

        @Override
        public synchronized Throwable fillInStackTrace() {
            Ask.here();
            return this;
        }
    }

    static final class AsksForMessage extends Exception {
        private static final long serialVersionUID = 1;

        @Override
        public String getMessage() {
            Ask.here();
            return "meant";
        }
    }

    static final class Nowhere extends OutputStream {
        @Override
        public void write(int something) {}
    }

    static final class Catch extends Route {
        @Override
        protected void go() {
            try {
                fails();
            } catch (IllegalStateException meant) {
                Ask.here();
            }
        }
    }

    static final class Finally extends Route {
        @Override
        protected void go() {
            try {
                fallsThrough();
            } catch (IllegalStateException meant) {
                // The question was asked on the way here.
            }
        }

        private static void fallsThrough() {
            try {
                fails();
            } finally {
                Ask.here();
            }
        }
    }

    /** Each level handles the exception and throws it on. */
    static final class Rethrow extends Route {
        @Override
        protected void go() {
            try {
                rethrow(LEVELS);
            } catch (IllegalStateException meant) {
                // The outermost level has asked.
            }
        }

        @Override
        protected void ready() {
            Ask.needs(" [14] +Exceptions::rethrow \\(\\d+ bytes\\)$");
        }
    }

    /** The exception unwinds each level, and the middle one asks. */
    static final class Unwind extends Route {
        @Override
        protected void go() {
            try {
                unwind(LEVELS);
            } catch (IllegalStateException meant) {
                // The middle level has asked.
            }
        }

        @Override
        protected void ready() {
            Ask.needs(" [14] +Exceptions::unwind \\(\\d+ bytes\\)$");
        }
    }

    /** The exception unwinds a frame that holds a monitor. */
    static final class LeavesLock extends Route {
        @Override
        protected void go() {
            try {
                leavesLock();
            } catch (IllegalStateException meant) {
                Ask.here();
            }
        }
    }

    static final class Close extends Route {
        @Override
        protected void go() {
            try (Closes closes = new Closes()) {
                closes.nothing();
            }
        }
    }

    /** The exception makes try-with-resources close the resource, which asks. */
    static final class CloseAfter extends Route {
        @Override
        protected void go() {
            try (Closes closes = new Closes()) {
                closes.nothing();
                fails();
            } catch (IllegalStateException meant) {
                // The question was asked on the way here.
            }
        }
    }

    static final class Constructor extends Route {
        @Override
        protected void go() {
            try {
                throw new AsksWhenMade();
            } catch (AsksWhenMade meant) {
                // The question was asked before.
            }
        }
    }

    static final class Fill extends Route {
        @Override
        protected void go() {
            try {
                throw new AsksWhenFilled();
            } catch (AsksWhenFilled meant) {
                // The question was asked before.
            }
        }
    }

    static final class Message extends Route {
        private final PrintStream nowhere = new PrintStream(new Nowhere());
        private final AsksForMessage meant = new AsksForMessage();

        @Override
        protected void go() {
            meant.printStackTrace(nowhere);
        }
    }

    static final class Reflection extends Route {
        private final Method fails = Exceptions.class.getDeclaredMethod("fails");

        Reflection() throws ReflectiveOperationException {}

        @Override
        protected void go() throws ReflectiveOperationException {
            try {
                fails.invoke(null);
            } catch (InvocationTargetException meant) {
                Ask.here();
            }
        }
    }

    /** The handler calls a method that itself throws and catches, and then asks. */
    static final class Within extends Route {
        @Override
        protected void go() {
            try {
                fails();
            } catch (IllegalStateException meant) {
                asks();
            }
        }

        private static void asks() {
            try {
                fails();
            } catch (IllegalStateException meant) {
                Ask.here();
            }
        }
    }

    /** The method was compiled before anything was thrown, so its code lacks the handler. */
    static final class FirstThrow extends Route {
        private boolean throwing;

        @Override
        protected void go() {
            try {
                failsIf(throwing);
                Ask.here();
            } catch (IllegalStateException meant) {
                Ask.here();
            }
        }

        @Override
        protected void ready() {
            throwing = true;
        }
    }
}
