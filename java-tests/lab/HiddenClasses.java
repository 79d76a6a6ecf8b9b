/*
 * Classes that cannot be found by name: hidden and anonymous ones, and those of a custom class
 * loader. They are on the stack, or two have the same name at once. Or a class is unloaded between
 * two questions, so that its method ids become invalid.
 *
 * Body is the class that asks. Each case defines it anew from its class file.
 *
 * @test
 * @summary hidden classes, classes of a custom loader, unloaded classes
 * @library /lib
 * @build dev.vouch.test.* dev.vouch.lab.* dev.vouch.Oracle
 * @run main/timeout=300 HiddenClasses
 */

import java.lang.invoke.MethodHandles;
import java.lang.management.ManagementFactory;
import java.lang.ref.WeakReference;
import java.lang.reflect.Array;
import java.lang.reflect.Field;

import dev.vouch.lab.Ask;
import dev.vouch.lab.Lab;
import dev.vouch.lab.Mode;
import dev.vouch.lab.Scenario;
import dev.vouch.test.SelfDefiningLoader;
import dev.vouch.lab.Warm;

public class HiddenClasses extends Scenario {
    private static final int ROUNDS = 5;
    private static final long PATIENCE_NS = 20_000_000_000L;
    private static final Runnable ASK = new Asker();

    public static void main(String[] args) throws Throwable {
        Lab.main(new HiddenClasses(), args);
    }

    @Override
    protected String[] cases() {
        return new String[] {"hidden", "hidden-nested", "hidden-compiled", "anonymous", "anonymous-compiled", "loader",
            "loader-compiled", "same-name", "unloaded-loader", "unloaded-hidden", "unloaded-anonymous", "unloaded-below"};
    }

    @Override
    protected String unfit(String name, int jdk, Mode mode) {
        if (name.contains("hidden") && jdk < 15) {
            return "hidden classes came with JDK 15";
        }
        if (name.contains("anonymous") && jdk > 16) {
            return "anonymous classes went with JDK 17";
        }
        return name.endsWith("-compiled") && !mode.compiles() ? "nothing is compiled" : null;
    }

    @Override
    protected String[] flags(String name) {
        return name.endsWith("-compiled") ? new String[] {"-XX:+PrintCompilation", "-Dlab.case=" + name} : new String[0];
    }

    @Override
    protected void run(String name) throws Throwable {
        switch (name) {
            case "hidden":
            case "anonymous":
            case "loader":
                Passes body = make(name);
                truth();
                body.pass(ASK);
                break;
            case "hidden-compiled":
            case "anonymous-compiled":
            case "loader-compiled":
                Passes compiled = make(name);
                warm(compiled);
                truth();
                compiled.pass(ASK);
                break;
            case "hidden-nested":
            case "same-name":
                Passes inner = make(name);
                Passes outer = make(name);
                Ask.truth("Ask.here", "Asker.run", "Body.pass", "Link.run", "Body.pass", "HiddenClasses.run", "HiddenClasses.main");
                outer.pass(new Link(inner));
                break;
            case "unloaded-loader":
            case "unloaded-hidden":
            case "unloaded-anonymous":
                for (int round = 0; round < ROUNDS; round++) {
                    long before = unloadedSoFar();
                    awaitUnload(askAndForget(make(name)), before);
                }
                Passes last = make(name);
                truth();
                last.pass(ASK);
                break;
            case "unloaded-below":
                Ask.truth("Ask.here", "UnloadThenAsk.run", "Body.pass", "HiddenClasses.run", "HiddenClasses.main");
                make(name).pass(new UnloadThenAsk());
                break;
            default:
                throw new AssertionError(name);
        }
    }

    /** Creates a Body in a new class of the kind that the case needs. */
    static Passes make(String name) throws ReflectiveOperationException {
        Class<?> type = name.contains("hidden") ? hidden() : name.contains("anonymous") ? anonymous() : new SelfDefiningLoader(Body.class).load();
        return (Passes) type.newInstance();
    }

    /** Answers name a hidden class as in its class file. */
    private static void truth() {
        Ask.truth("Ask.here", "Asker.run", "Body.pass", "HiddenClasses.run", "HiddenClasses.main");
    }

    private static Class<?> hidden() throws ReflectiveOperationException {
        Class<?> option = Class.forName("java.lang.invoke.MethodHandles$Lookup$ClassOption");
        Class<?> options = Array.newInstance(option, 0).getClass();
        MethodHandles.Lookup defined = (MethodHandles.Lookup) MethodHandles.Lookup.class
            .getMethod("defineHiddenClass", byte[].class, boolean.class, options)
            .invoke(MethodHandles.lookup(), SelfDefiningLoader.bytecode(Body.class), true, Array.newInstance(option, 0));
        return defined.lookupClass();
    }

    private static Class<?> anonymous() throws ReflectiveOperationException {
        Class<?> type = Class.forName("sun.misc.Unsafe");
        Field field = type.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        return (Class<?>) type.getMethod("defineAnonymousClass", Class.class, byte[].class, Object[].class)
            .invoke(field.get(null), HiddenClasses.class, SelfDefiningLoader.bytecode(Body.class), null);
    }

    private static void warm(Passes body) {
        for (int i = 0; i < Warm.TIMES; i++) {
            body.pass(Warm.anything(i));
        }
        Ask.needs(" [14] +HiddenClasses\\$Body\\S*::pass ");
    }

    /** Only a weak reference to the body's class remains. */
    static WeakReference<Class<?>> askAndForget(Passes body) {
        truth();
        body.pass(ASK);
        return new WeakReference<Class<?>>(body.getClass());
    }

    static long unloadedSoFar() {
        return ManagementFactory.getClassLoadingMXBean().getUnloadedClassCount();
    }

    static void awaitUnload(WeakReference<Class<?>> type, long before) {
        long until = System.nanoTime() + PATIENCE_NS;
        while ((type.get() != null || unloadedSoFar() == before) && System.nanoTime() < until) {
            System.gc();
        }
        Ask.trigger(type.get() == null && unloadedSoFar() > before, "the class was not unloaded");
    }

    /** Public like Body, since another loader's classes are in another package. */
    public interface Passes {
        void pass(Runnable next);
    }

    public static final class Body implements Passes {
        @Override
        public void pass(Runnable next) {
            next.run();
        }
    }

    static final class Asker implements Runnable {
        @Override
        public void run() {
            Ask.here();
        }
    }

    static final class Link implements Runnable {
        private final Passes body;

        Link(Passes body) {
            this.body = body;
        }

        @Override
        public void run() {
            body.pass(ASK);
        }
    }

    /** Unloads another copy of the class while this one is on the stack. */
    static final class UnloadThenAsk implements Runnable {
        @Override
        public void run() {
            long before = unloadedSoFar();
            awaitUnload(use(), before);
            Ask.here();
        }

        private static WeakReference<Class<?>> use() {
            try {
                Passes body = make("loader");
                body.pass(ASK);
                return new WeakReference<Class<?>>(body.getClass());
            } catch (ReflectiveOperationException error) {
                throw new IllegalStateException(error);
            }
        }
    }
}
