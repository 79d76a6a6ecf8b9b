/*
 * Frames that invokedynamic and proxies add between a caller and its target. The cases are lambdas,
 * method references, streams, string concatenation and java.lang.reflect.Proxy.
 *
 * From JDK 9 on javac compiles `+` on strings to invokedynamic, and before that to a StringBuilder.
 * Each JDK compiles this test itself, so it is tested with its own form. A javac with the fix of
 * JDK-8273914 calls toString() before the invokedynamic. Older class files leave the call to the
 * method handle, as the case "concat-factory" does.
 *
 * @test
 * @summary lambdas, method references, streams, string concatenation and proxies, cold and compiled
 * @library /lib
 * @build dev.vouch.test.* dev.vouch.lab.* dev.vouch.Oracle
 * @run main Lambdas
 */

import java.io.Serializable;
import java.lang.invoke.CallSite;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandleProxies;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;

import dev.vouch.lab.Ask;
import dev.vouch.lab.Lab;
import dev.vouch.lab.Mode;
import dev.vouch.lab.Route;
import dev.vouch.lab.Scenario;

public class Lambdas extends Scenario {
    private static final String[] FORMS = {
        "plain", "capturing", "nested", "boxing", "serializable", "static-reference", "bound-reference", "unbound-reference",
        "constructor-reference", "stream", "collector", "concat", "concat-many", "concat-factory", "proxy",
        "handle-proxy",
    };

    public static void main(String[] args) throws Throwable {
        Lab.main(new Lambdas(), args);
    }

    @Override
    protected String[] cases() {
        List<String> cases = Route.both(FORMS);
        return cases.toArray(new String[0]);
    }

    @Override
    protected String[] flags(String name) {
        return Route.flags(name.endsWith("-warm"));
    }

    @Override
    protected String unfit(String name, int jdk, Mode mode) {
        if (name.startsWith("concat-factory") && jdk < 9) {
            return "StringConcatFactory came with JDK 9";
        }
        return Route.unfit(name.endsWith("-warm"), mode);
    }

    @Override
    protected void run(String name) throws Throwable {
        Route route = route(name.substring(0, name.lastIndexOf('-')));
        if (name.endsWith("warm")) {
            route.warm();
        } else {
            route.cold();
        }
    }

    private static Route route(String form) throws Throwable {
        switch (form) {
            case "plain":
                truth("Plain.lambda$go$*", "Plain.go");
                return new Plain();
            case "capturing":
                truth("Capturing.lambda$go$*", "Capturing.go");
                return new Capturing();
            case "nested":
                truth("Nested.lambda$*", "Nested.lambda$*", "Nested.go");
                return new Nested();
            case "boxing":
                truth("Boxing.lambda$go$*", "Boxing.go");
                return new Boxing();
            case "serializable":
                truth("Serial.lambda$go$*", "Serial.go");
                return new Serial();
            case "static-reference":
                truth("Target.askStatically", "StaticReference.go");
                return new StaticReference();
            case "bound-reference":
                truth("Target.run", "BoundReference.go");
                return new BoundReference();
            case "unbound-reference":
                truth("Target.run", "UnboundReference.go");
                return new UnboundReference();
            case "constructor-reference":
                truth("Made.<init>", "ConstructorReference.go");
                return new ConstructorReference();
            case "stream":
                truth("Streamed.lambda$go$*", "ReferencePipeline*.accept", "ReferencePipeline.forEach", "Streamed.go");
                return new Streamed();
            case "collector":
                truth("Collected.lambda$go$*", "Collectors*.accept", "ReferencePipeline.collect", "Collected.go");
                return new Collected();
            case "concat":
                truth("Target.toString", "Concat.go");
                return new Concat();
            case "concat-factory":
                truth("Target.toString", "ConcatFactory.go");
                return new ConcatFactory();
            case "concat-many":
                truth("Target.toString", "ConcatMany.go");
                return new ConcatMany();
            case "proxy":
                truth("Handler.invoke", "$Proxy*.run", "Proxied.go");
                return new Proxied();
            case "handle-proxy":
                truth("Target.askStatically", "HandleProxied.go");
                return new HandleProxied();
            default:
                throw new AssertionError(form);
        }
    }

    private static void truth(String... methods) {
        List<String> all = new ArrayList<>(Arrays.asList(methods));
        all.add(0, "Ask.here");
        all.add("Lambdas.run");
        Ask.truth(all.toArray(new String[0]));
    }

    private static final class Target implements Runnable {
        static void askStatically() {
            Ask.here();
        }

        @Override
        public void run() {
            Ask.here();
        }

        @Override
        public String toString() {
            Ask.here();
            return "";
        }
    }

    private static final class Made {
        Made() {
            Ask.here();
        }
    }

    private static final class Plain extends Route {
        @Override
        protected void go() {
            Runnable lambda = () -> Ask.here();
            lambda.run();
        }
    }

    private static final class Capturing extends Route {
        private int calls;

        @Override
        protected void go() {
            long local = calls;
            Runnable lambda = () -> {
                calls += (int) (local & 1);
                Ask.here();
            };
            lambda.run();
        }
    }

    private static final class Nested extends Route {
        @Override
        protected void go() {
            Supplier<Runnable> outer = () -> {
                Runnable inner = () -> Ask.here();
                inner.run();
                return inner;
            };
            outer.get();
        }
    }

    /** The lambda's types differ from the interface's, so the generated class converts them. */
    private static final class Boxing extends Route {
        @Override
        protected void go() {
            Function<Integer, Long> lambda = number -> {
                Ask.here();
                return number + 1L;
            };
            lambda.apply(1);
        }
    }

    private static final class Serial extends Route {
        @Override
        protected void go() {
            Runnable lambda = (Runnable & Serializable) () -> Ask.here();
            lambda.run();
        }
    }

    private static final class StaticReference extends Route {
        @Override
        protected void go() {
            Runnable reference = Target::askStatically;
            reference.run();
        }
    }

    private static final class BoundReference extends Route {
        private final Target target = new Target();

        @Override
        protected void go() {
            Runnable reference = target::run;
            reference.run();
        }
    }

    private static final class UnboundReference extends Route {
        private final Target target = new Target();

        @Override
        protected void go() {
            Consumer<Target> reference = Target::run;
            reference.accept(target);
        }
    }

    private static final class ConstructorReference extends Route {
        @Override
        protected void go() {
            Supplier<Made> reference = Made::new;
            reference.get();
        }
    }

    /** Asks once, in the middle of a pipeline. */
    private static final class Streamed extends Route {
        private final List<Integer> one = Arrays.asList(1);
        private int sum;

        @Override
        protected void go() {
            one.stream().map(number -> number + 1).peek(number -> Ask.here()).forEach(number -> sum += number);
        }
    }

    private static final class Collected extends Route {
        private final List<Integer> one = Arrays.asList(1);

        @Override
        protected void go() {
            one.stream().collect(Collectors.groupingBy(number -> {
                Ask.here();
                return number;
            }));
        }
    }

    private static final class Concat extends Route {
        private final Target target = new Target();
        private String made;

        @Override
        protected void go() {
            made = "[" + target + "]";
        }
    }

    /** Calls by hand what the invokedynamic of `+` is linked to. */
    private static final class ConcatFactory extends Route {
        private final MethodHandle concat = concat();
        private final Target target = new Target();

        ConcatFactory() throws Throwable {}

        private static MethodHandle concat() throws Throwable {
            MethodHandle make = MethodHandles.lookup().findStatic(Class.forName("java.lang.invoke.StringConcatFactory"), "makeConcat",
                MethodType.methodType(CallSite.class, MethodHandles.Lookup.class, String.class, MethodType.class));
            MethodType type = MethodType.methodType(String.class, Object.class, Object.class);
            return ((CallSite) make.invokeExact(MethodHandles.lookup(), "concat", type)).dynamicInvoker();
        }

        @Override
        protected void go() throws Throwable {
            String ignored = (String) concat.invokeExact((Object) "", (Object) target);
        }
    }

    /** Has more operands than the JDK puts into one method handle; the last one asks. */
    private static final class ConcatMany extends Route {
        private final Target target = new Target();
        private int a;
        private long b;
        private double c;
        private char d;
        private String made;

        @Override
        protected void go() {
            made = "" + a + b + c + d + a + b + c + d + a + b + c + d + a + b + c + d + a + b + c + d + a + b + c + d + target;
        }
    }

    private static final class Proxied extends Route {
        private final Runnable proxy =
            (Runnable) Proxy.newProxyInstance(Lambdas.class.getClassLoader(), new Class<?>[] {Runnable.class}, new Handler());

        @Override
        protected void go() {
            proxy.run();
        }
    }

    private static final class Handler implements InvocationHandler {
        @Override
        public Object invoke(Object proxy, Method method, Object[] arguments) {
            Ask.here();
            return null;
        }
    }

    /** A proxy makes a method handle an instance of an interface. */
    private static final class HandleProxied extends Route {
        private final Runnable proxy = proxy();

        private static Runnable proxy() {
            try {
                return MethodHandleProxies.asInterfaceInstance(Runnable.class,
                    MethodHandles.lookup().findStatic(Target.class, "askStatically", MethodType.methodType(void.class)));
            } catch (ReflectiveOperationException error) {
                throw new AssertionError(error);
            }
        }

        @Override
        protected void go() {
            proxy.run();
        }
    }
}
