/*
 * The JVM itself throws, since an instruction fails or one of its native methods complains. The
 * question comes in the handler. Compiled code may reach the handler without a stack trace, by a
 * signal, or by an uncommon trap.
 *
 * @test
 * @summary handlers of exceptions that the JVM throws
 * @library /lib
 * @build dev.vouch.test.* dev.vouch.lab.* dev.vouch.Oracle
 * @run main/timeout=300 ImplicitExceptions
 */

import java.util.List;

import dev.vouch.lab.Ask;
import dev.vouch.lab.Lab;
import dev.vouch.lab.Mode;
import dev.vouch.lab.Route;
import dev.vouch.lab.Scenario;

public class ImplicitExceptions extends Scenario {
    private static final String[] WAYS = {"null", "bounds", "division", "cast", "store", "size", "native"};

    public static void main(String[] args) throws Throwable {
        Lab.main(new ImplicitExceptions(), args);
    }

    @Override
    protected String[] cases() {
        List<String> cases = Route.both(WAYS);
        cases.add("first-null");
        return cases.toArray(new String[0]);
    }

    @Override
    protected String[] flags(String name) {
        return new String[] {"-XX:+PrintCompilation", "-XX:CompileCommand=dontinline,ImplicitExceptions*::go"};
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
    private static Route route(String way) {
        switch (way) {
            case "null":
                Ask.truth("Ask.here", "Null.go", "ImplicitExceptions.run", "ImplicitExceptions.main");
                return new Null();
            case "bounds":
                Ask.truth("Ask.here", "Bounds.go", "ImplicitExceptions.run", "ImplicitExceptions.main");
                return new Bounds();
            case "division":
                Ask.truth("Ask.here", "Division.go", "ImplicitExceptions.run", "ImplicitExceptions.main");
                return new Division();
            case "cast":
                Ask.truth("Ask.here", "Cast.go", "ImplicitExceptions.run", "ImplicitExceptions.main");
                return new Cast();
            case "store":
                Ask.truth("Ask.here", "Store.go", "ImplicitExceptions.run", "ImplicitExceptions.main");
                return new Store();
            case "size":
                Ask.truth("Ask.here", "Size.go", "ImplicitExceptions.run", "ImplicitExceptions.main");
                return new Size();
            case "native":
                Ask.truth("Ask.here", "Native.go", "ImplicitExceptions.run", "ImplicitExceptions.main");
                return new Native();
            case "first-null":
                Ask.truth("Ask.here", "FirstNull.go", "ImplicitExceptions.run", "ImplicitExceptions.main");
                return new FirstNull();
            default:
                throw new AssertionError(way);
        }
    }

    static final class Null extends Route {
        private Object nothing;

        @Override
        protected void go() {
            try {
                nothing.toString();
            } catch (NullPointerException meant) {
                Ask.here();
            }
        }
    }

    static final class Bounds extends Route {
        private int[] numbers = new int[1];
        private int index = 1;

        @Override
        protected void go() {
            try {
                numbers[index]++;
            } catch (ArrayIndexOutOfBoundsException meant) {
                Ask.here();
            }
        }
    }

    static final class Division extends Route {
        private int number = 1;
        private int zero;

        @Override
        protected void go() {
            try {
                number = number / zero;
            } catch (ArithmeticException meant) {
                Ask.here();
            }
        }
    }

    static final class Cast extends Route {
        private Object text = "text";
        private Integer number;

        @Override
        protected void go() {
            try {
                number = (Integer) text;
            } catch (ClassCastException meant) {
                Ask.here();
            }
        }
    }

    static final class Store extends Route {
        private Object[] numbers = new Integer[1];
        private Object text = "text";

        @Override
        protected void go() {
            try {
                numbers[0] = text;
            } catch (ArrayStoreException meant) {
                Ask.here();
            }
        }
    }

    static final class Size extends Route {
        private int size = -1;
        private int[] numbers;

        @Override
        protected void go() {
            try {
                numbers = new int[size];
            } catch (NegativeArraySizeException meant) {
                Ask.here();
            }
        }
    }

    /** The native method throws, since the thread does not hold the lock. */
    static final class Native extends Route {
        private final Object lock = new Object();

        @Override
        protected void go() {
            try {
                lock.notify();
            } catch (IllegalMonitorStateException meant) {
                Ask.here();
            }
        }
    }

    /** The method was compiled before anything was thrown, so its code lacks the handler. */
    static final class FirstNull extends Route {
        private Object thing = new Object();

        @Override
        protected void go() {
            try {
                thing.hashCode();
                Ask.here();
            } catch (NullPointerException meant) {
                Ask.here();
            }
        }

        @Override
        protected void ready() {
            thing = null;
        }
    }
}
