/*
 * Method handles: each kind of call, and combinators that add frames between the caller and its
 * target.
 *
 * JDK-8302320: a walk ends too early if a handle's call passes through the interpreter. The call
 * pops its last argument, which names the target. The walker then mistakes the stack pointer for an
 * invalid one.
 *
 * The JVM generates a handle's adapter as bytecode from a "lambda form" at run time. In the cases
 * named "forms" Java code interprets these forms instead.
 *
 * @test
 * @summary method handles, direct and combined, cold and compiled
 * @library /lib
 * @build dev.vouch.test.* dev.vouch.lab.* dev.vouch.Oracle
 * @run main MethodHandles
 */

import static java.lang.invoke.MethodHandles.catchException;
import static java.lang.invoke.MethodHandles.constant;
import static java.lang.invoke.MethodHandles.dropArguments;
import static java.lang.invoke.MethodHandles.explicitCastArguments;
import static java.lang.invoke.MethodHandles.filterArguments;
import static java.lang.invoke.MethodHandles.filterReturnValue;
import static java.lang.invoke.MethodHandles.foldArguments;
import static java.lang.invoke.MethodHandles.guardWithTest;
import static java.lang.invoke.MethodHandles.insertArguments;
import static java.lang.invoke.MethodHandles.invoker;
import static java.lang.invoke.MethodHandles.permuteArguments;
import static java.lang.invoke.MethodType.methodType;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles.Lookup;
import java.lang.invoke.MethodType;
import java.lang.invoke.MutableCallSite;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import dev.vouch.lab.Ask;
import dev.vouch.lab.Lab;
import dev.vouch.lab.Mode;
import dev.vouch.lab.Route;
import dev.vouch.lab.Scenario;

public class MethodHandles extends Scenario {
    private static final String[] HANDLES = {
        "astype", "virtual", "interface", "constructor", "spreader", "invoker", "weak", "constant", "exact",
        "bound", "inserted", "dropped", "permuted", "collector", "filtered", "filter", "folder", "returned",
        "guarded", "guard", "caught", "catcher", "finally", "callsite", "composed",
    };

    /** The type of most handles here. */
    private static final MethodType TAKES = methodType(int.class, int.class, Object.class);

    public static void main(String[] args) throws Throwable {
        Lab.main(new MethodHandles(), args);
    }

    @Override
    protected String[] cases() {
        List<String> cases = Route.both(HANDLES);
        cases.addAll(Arrays.asList("locals-interpreted", "filtered-forms", "guarded-forms", "catcher-forms"));
        return cases.toArray(new String[0]);
    }

    @Override
    protected String[] flags(String name) {
        List<String> flags = new ArrayList<>(Arrays.asList(Route.flags(name.endsWith("-warm"))));
        if (name.endsWith("forms")) {
            flags.add("-Djava.lang.invoke.MethodHandle.COMPILE_THRESHOLD=-1");
        }
        return flags.toArray(new String[0]);
    }

    @Override
    protected String unfit(String name, int jdk, Mode mode) {
        if (name.startsWith("finally") && jdk < 9) {
            return "MethodHandles.tryFinally came with JDK 9";
        }
        return Route.unfit(name.endsWith("-warm"), mode);
    }

    @Override
    protected void run(String name) throws Throwable {
        String handle = name.substring(0, name.indexOf('-'));
        Route route = route(handle);
        String asker = handle.equals("constructor") ? "Target.<init>" : "Target.asks*";
        String leader = route.getClass().getSimpleName() + ".go";
        if (name.endsWith("forms")) {
            Ask.truth("Ask.here", asker, "LambdaForm.interpretWithArguments", leader, "MethodHandles.run");
        } else {
            Ask.truth("Ask.here", asker, leader, "MethodHandles.run");
        }
        if (name.endsWith("warm")) {
            route.warm();
        } else {
            route.cold();
        }
    }

    private static Route route(String handle) throws Throwable {
        switch (handle) {
            case "astype": return new General(Target.find("asks", TAKES));
            case "virtual": return new Virtual();
            case "interface": return new Interface();
            case "constructor": return new Constructor();
            case "spreader": return new Spread(Target.find("asks", TAKES).asSpreader(Object[].class, 2));
            case "invoker": return new Invoked(Target.find("asks", TAKES));
            case "weak": return new Weak(Target.find("asks", TAKES));
            case "constant": return new Constant();
            default: return new Taking(taking(handle));
        }
    }

    /** Creates a handle of type TAKES that leads to a method called `asks`. */
    private static MethodHandle taking(String handle) throws Throwable {
        MethodHandle asks = Target.find("asks", TAKES);
        MethodHandle quiet = Target.find("quiet", TAKES);
        MethodHandle asksOfOne = Target.find("asks", methodType(int.class, int.class));
        MethodHandle quietOfOne = Target.find("quiet", methodType(int.class, int.class));
        MethodHandle test = dropArguments(constant(boolean.class, true), 0, TAKES.parameterArray());
        MethodHandle handler = dropArguments(quiet, 0, Error.class);
        switch (handle) {
            case "exact":
                return asks;
            case "locals":
                return Target.find("asksWithLocals", TAKES);
            case "bound":
                return Target.LOOKUP.bind(new Target(), "asks", TAKES.insertParameterTypes(0, Target.class)).bindTo(new Target());
            case "inserted":
                return insertArguments(Target.find("asks", TAKES.insertParameterTypes(0, long.class)), 0, 3L);
            case "dropped":
                return dropArguments(asksOfOne, 1, Object.class);
            case "permuted":
                return permuteArguments(Target.find("asks", methodType(int.class, Object.class, int.class)), TAKES, 1, 0);
            case "collector":
                return Target.find("asks", methodType(int.class, Object[].class)).asCollector(Object[].class, 2).asType(TAKES);
            case "filtered":
                return filterArguments(asks, 0, quietOfOne);
            case "filter":
                return filterArguments(quiet, 0, asksOfOne);
            case "folder":
                return foldArguments(dropArguments(quiet, 0, int.class), asks);
            case "returned":
                return filterReturnValue(quiet, asksOfOne);
            case "guarded":
                return guardWithTest(test, asks, quiet);
            case "guard":
                return guardWithTest(explicitCastArguments(asks, TAKES.changeReturnType(boolean.class)), quiet, quiet);
            case "caught":
                return catchException(asks, Error.class, handler);
            case "catcher":
                return catchException(Target.find("fails", TAKES), Error.class, dropArguments(asks, 0, Error.class));
            case "finally":
                return tryFinally(quiet, dropArguments(asks, 0, Throwable.class, int.class));
            case "callsite":
                return new MutableCallSite(asks).dynamicInvoker();
            case "composed":
                MethodHandle caught = catchException(filterArguments(asks, 0, quietOfOne), Error.class, handler);
                return filterReturnValue(guardWithTest(test, caught, quiet), quietOfOne);
            default:
                throw new AssertionError(handle);
        }
    }

    /** MethodHandles.tryFinally, called through a handle since JDK 8 lacks it. */
    private static MethodHandle tryFinally(MethodHandle tried, MethodHandle cleanUp) throws Throwable {
        MethodType type = methodType(MethodHandle.class, MethodHandle.class, MethodHandle.class);
        MethodHandle combinator = Target.LOOKUP.findStatic(java.lang.invoke.MethodHandles.class, "tryFinally", type);
        return (MethodHandle) combinator.invokeExact(tried, cleanUp);
    }

    private interface Asker {
        void asks();
    }

    /** The handles' targets: each `asks` method asks. */
    private static final class Target implements Asker {
        static final Lookup LOOKUP = java.lang.invoke.MethodHandles.lookup();

        Target() {}

        Target(int number) {
            Ask.here();
        }

        static MethodHandle find(String name, MethodType type) throws ReflectiveOperationException {
            return LOOKUP.findStatic(Target.class, name, type);
        }

        static int asks(int number, Object any) {
            Ask.here();
            return number;
        }

        static int asks(int number) {
            Ask.here();
            return number;
        }

        static int asks(long more, int number, Object any) {
            Ask.here();
            return number;
        }

        static int asks(Object any, int number) {
            Ask.here();
            return number;
        }

        static int asks(Object[] all) {
            Ask.here();
            return all.length;
        }

        /** The interpreter reserves stack for its locals, which hides the slot of JDK-8302320. */
        static int asksWithLocals(int number, Object any) {
            int twice = 2 * number;
            Ask.here();
            return twice;
        }

        static int quiet(int number, Object any) {
            return number;
        }

        static int quiet(int number) {
            return number;
        }

        static int fails(int number, Object any) {
            throw Thrown.IT;
        }

        int asks(Target other, int number, Object any) {
            Ask.here();
            return number;
        }

        @Override
        public void asks() {
            Ask.here();
        }
    }

    /** Thrown often, so it is created once and without a stack trace. */
    private static final class Thrown extends Error {
        static final Thrown IT = new Thrown();
        private static final long serialVersionUID = 1;

        Thrown() {
            super(null, null, false, false);
        }
    }

    private static final class Taking extends Route {
        private final MethodHandle handle;

        Taking(MethodHandle handle) {
            this.handle = handle;
        }

        @Override
        protected void go() throws Throwable {
            int ignored = (int) handle.invokeExact(1, (Object) this);
        }
    }

    /** A constant handle, which compilers inline completely. */
    private static final class Constant extends Route {
        private static final MethodHandle HANDLE = handle();

        private static MethodHandle handle() {
            try {
                return taking("composed");
            } catch (Throwable error) {
                throw new AssertionError(error);
            }
        }

        @Override
        protected void go() throws Throwable {
            int ignored = (int) HANDLE.invokeExact(1, (Object) this);
        }
    }

    /** The call's type differs from the handle's, so each argument is converted. */
    private static final class General extends Route {
        private final MethodHandle handle;

        General(MethodHandle handle) {
            this.handle = handle;
        }

        @Override
        protected void go() throws Throwable {
            Object ignored = handle.invoke((Integer) 1, this);
        }
    }

    private static final class Virtual extends Route {
        private final MethodHandle handle = Target.LOOKUP.findVirtual(Target.class, "asks", methodType(void.class));
        private final Target target = new Target();

        Virtual() throws ReflectiveOperationException {}

        @Override
        protected void go() throws Throwable {
            handle.invokeExact(target);
        }
    }

    private static final class Interface extends Route {
        private final MethodHandle handle = Target.LOOKUP.findVirtual(Asker.class, "asks", methodType(void.class));
        private final Asker target = new Target();

        Interface() throws ReflectiveOperationException {}

        @Override
        protected void go() throws Throwable {
            handle.invokeExact(target);
        }
    }

    private static final class Constructor extends Route {
        private final MethodHandle handle = Target.LOOKUP.findConstructor(Target.class, methodType(void.class, int.class));

        Constructor() throws ReflectiveOperationException {}

        @Override
        protected void go() throws Throwable {
            Target ignored = (Target) handle.invokeExact(1);
        }
    }

    private static final class Spread extends Route {
        private final MethodHandle handle;
        private final Object[] arguments = {1, this};

        Spread(MethodHandle handle) {
            this.handle = handle;
        }

        @Override
        protected void go() throws Throwable {
            int ignored = (int) handle.invokeExact(arguments);
        }
    }

    /** One handle calls another. */
    private static final class Invoked extends Route {
        private final MethodHandle invoker = invoker(TAKES);
        private final MethodHandle handle;

        Invoked(MethodHandle handle) {
            this.handle = handle;
        }

        @Override
        protected void go() throws Throwable {
            int ignored = (int) invoker.invokeExact(handle, 1, (Object) this);
        }
    }

    private static final class Weak extends Route {
        private final MethodHandle handle;

        Weak(MethodHandle handle) {
            this.handle = handle;
        }

        @Override
        protected void go() throws Throwable {
            handle.invokeWithArguments(1, this);
        }
    }
}
