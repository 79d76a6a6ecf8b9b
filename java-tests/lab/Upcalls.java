/*
 * The JVM or deep JDK code calls Java: serialization, annotations, service providers, callbacks,
 * and the ends of threads and of the JVM. (For class initialisers see Initialisers.)
 *
 * @test
 * @summary code that the JVM or the JDK calls, cold and, where it can be repeated, compiled
 * @library /lib
 * @build dev.vouch.test.* dev.vouch.lab.* dev.vouch.Oracle
 * @run main Upcalls
 */

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.Externalizable;
import java.io.IOException;
import java.io.InputStream;
import java.io.ObjectInput;
import java.io.ObjectInputStream;
import java.io.ObjectOutput;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.security.AccessController;
import java.security.PrivilegedAction;
import java.security.PrivilegedExceptionAction;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

import dev.vouch.lab.Ask;
import dev.vouch.lab.Lab;
import dev.vouch.lab.Mode;
import dev.vouch.lab.Route;
import dev.vouch.lab.Scenario;

public class Upcalls extends Scenario {
    private static final List<String> REPEATED = Arrays.asList(
        "privileged", "privileged-exception", "comparator", "compute", "write-object", "read-object", "read-resolve", "external");
    private static final List<String> ONCE = Arrays.asList(
        "annotation", "provider", "load-class", "finalizer", "uncaught", "shutdown");

    public static void main(String[] args) throws Throwable {
        Lab.main(new Upcalls(), args);
    }

    @Override
    protected String[] cases() {
        List<String> cases = Route.both(REPEATED.toArray(new String[0]));
        cases.addAll(ONCE);
        return cases.toArray(new String[0]);
    }

    @Override
    protected String[] flags(String name) {
        // No question may follow the one in the shutdown hook, so this case has its own JVM.
        return name.equals("shutdown") ? new String[] {"-Dalone=true"} : Route.flags(name.endsWith("-warm"));
    }

    @Override
    protected String unfit(String name, int jdk, Mode mode) {
        return Route.unfit(name.endsWith("-warm"), mode);
    }

    @Override
    protected void run(String name) throws Throwable {
        switch (name) {
            case "annotation": annotation(); break;
            case "provider": provider(); break;
            case "load-class": loadClass(); break;
            case "finalizer": finalizer(); break;
            case "uncaught": uncaught(); break;
            case "shutdown": shutdown(); break;
            default:
                Route route = route(name.substring(0, name.lastIndexOf('-')));
                if (name.endsWith("warm")) {
                    route.warm();
                } else {
                    route.cold();
                }
        }
    }

    private static Route route(String name) throws IOException {
        switch (name) {
            case "privileged":
                Ask.truth("Ask.here", "Action.run", "AccessController.doPrivileged", "Privileged.go", "Upcalls.run");
                return new Privileged();
            case "privileged-exception":
                Ask.truth("Ask.here", "CheckedAction.run", "AccessController.doPrivileged", "CheckedPrivileged.go", "Upcalls.run");
                return new CheckedPrivileged();
            case "comparator":
                Ask.truth("Ask.here", "Once.compare", "Arrays.sort", "Sorting.go", "Upcalls.run");
                return new Sorting();
            case "compute":
                Ask.truth("Ask.here", "Computed.apply", "HashMap.computeIfAbsent", "Computing.go", "Upcalls.run");
                return new Computing();
            case "write-object":
                Ask.truth("Ask.here", "Written.writeObject", "ObjectOutputStream.writeObject", "Writing.go", "Upcalls.run");
                return new Writing(new Written());
            case "read-object":
                Ask.truth("Ask.here", "Read.readObject", "ObjectInputStream.readObject", "Reading.go", "Upcalls.run");
                return new Reading(new Read());
            case "read-resolve":
                Ask.truth("Ask.here", "Resolved.readResolve", "ObjectInputStream.readObject", "Reading.go", "Upcalls.run");
                return new Reading(new Resolved());
            case "external":
                Ask.truth("Ask.here", "External.readExternal", "ObjectInputStream.readObject", "Reading.go", "Upcalls.run");
                return new Reading(new External());
            default:
                throw new AssertionError(name);
        }
    }

    /** Reading the annotation initialises its enum. */
    private static void annotation() {
        Ask.truth("Ask.here", "Colour.<clinit>", "AnnotationParser.parseEnumValue", "Class.getAnnotation", "Upcalls.annotation");
        Painted.class.getAnnotation(Paint.class);
    }

    private static void provider() throws IOException {
        Ask.truth("Ask.here", "Provider.<init>", "ServiceLoader*.next", "Upcalls.provider");
        Path folder = Files.createDirectories(Paths.get("provided", "META-INF", "services"));
        Files.write(folder.resolve(Runnable.class.getName()), Provider.class.getName().getBytes(StandardCharsets.UTF_8));
        URL[] urls = {Paths.get("provided").toUri().toURL()};
        try (URLClassLoader loader = new URLClassLoader(urls, Upcalls.class.getClassLoader())) {
            ServiceLoader.load(Runnable.class, loader).iterator().next();
        }
    }

    /** The JVM calls loadClass when it resolves a class that Far uses for the first time. */
    private static void loadClass() throws Exception {
        Ask.truth("Ask.here", "Loader.loadClass", "Far.run", "Upcalls.loadClass");
        Runnable far = (Runnable) new Loader().loadClass(Far.class.getName()).getDeclaredConstructor().newInstance();
        far.run();
    }

    private static void finalizer() throws InterruptedException {
        Ask.truth("Ask.here", "Finalized.finalize", "Finalizer.runFinalizer", "Finalizer*.run");
        drop();
        boolean done = false;
        for (int i = 0; i < 100 && !done; i++) {
            System.gc();
            done = Finalized.DONE.await(100, TimeUnit.MILLISECONDS);
        }
        Ask.trigger(done, "the object was not finalized within 10 s");
    }

    private static void drop() {
        new Finalized();
    }

    private static void uncaught() throws InterruptedException {
        Ask.truth("Ask.here", "Last.uncaughtException", "Thread.dispatchUncaughtException");
        Thread thread = new Thread(new Failing());
        thread.setUncaughtExceptionHandler(new Last());
        thread.start();
        thread.join();
    }

    private static void shutdown() {
        Ask.truth("Ask.here", "Hook.run");
        Runtime.getRuntime().addShutdownHook(new Hook());
    }

    private static final class Action implements PrivilegedAction<Object> {
        @Override
        public Object run() {
            Ask.here();
            return null;
        }
    }

    private static final class CheckedAction implements PrivilegedExceptionAction<Object> {
        @Override
        public Object run() throws Exception {
            Ask.here();
            return null;
        }
    }

    @SuppressWarnings({"deprecation", "removal"})
    private static final class Privileged extends Route {
        @Override
        protected void go() {
            AccessController.doPrivileged(new Action());
        }
    }

    @SuppressWarnings({"deprecation", "removal"})
    private static final class CheckedPrivileged extends Route {
        @Override
        protected void go() throws Exception {
            AccessController.doPrivileged(new CheckedAction(), AccessController.getContext());
        }
    }

    private static final class Sorting extends Route {
        private static final Integer[] MIXED = {3, 1, 2};

        @Override
        protected void go() {
            Arrays.sort(MIXED.clone(), new Once());
        }
    }

    /** Asks in each comparison. */
    private static final class Once implements Comparator<Integer> {
        @Override
        public int compare(Integer left, Integer right) {
            Ask.here();
            return left.compareTo(right);
        }
    }

    private static final class Computing extends Route {
        @Override
        protected void go() {
            Map<String, String> map = new HashMap<>();
            map.computeIfAbsent("key", new Computed());
        }
    }

    private static final class Computed implements Function<String, String> {
        @Override
        public String apply(String key) {
            Ask.here();
            return key;
        }
    }

    private static final class Writing extends Route {
        private final Object object;

        Writing(Object object) {
            this.object = object;
        }

        @Override
        protected void go() throws IOException {
            bytes(object);
        }
    }

    private static final class Reading extends Route {
        private final byte[] bytes;

        Reading(Object object) throws IOException {
            bytes = bytes(object);
        }

        @Override
        protected void go() throws Exception {
            new ObjectInputStream(new ByteArrayInputStream(bytes)).readObject();
        }
    }

    private static byte[] bytes(Object object) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        ObjectOutputStream out = new ObjectOutputStream(bytes);
        out.writeObject(object);
        out.flush();
        return bytes.toByteArray();
    }

    private static final class Written implements Serializable {
        private static final long serialVersionUID = 1;

        private void writeObject(ObjectOutputStream out) {
            Ask.here();
        }
    }

    private static final class Read implements Serializable {
        private static final long serialVersionUID = 1;

        private void readObject(ObjectInputStream in) {
            Ask.here();
        }
    }

    private static final class Resolved implements Serializable {
        private static final long serialVersionUID = 1;

        private Object readResolve() {
            Ask.here();
            return "resolved";
        }
    }

    /** Serialization calls the constructor, so it is public. */
    public static final class External implements Externalizable {
        private static final long serialVersionUID = 1;

        @Override
        public void writeExternal(ObjectOutput out) {}

        @Override
        public void readExternal(ObjectInput in) {
            Ask.here();
        }
    }

    private enum Colour {
        RED;

        static {
            Ask.here();
        }
    }

    @Retention(RetentionPolicy.RUNTIME)
    private @interface Paint {
        Colour value();
    }

    @Paint(Colour.RED)
    private static final class Painted {}

    /** A service of type Runnable. */
    public static final class Provider implements Runnable {
        public Provider() {
            Ask.here();
        }

        @Override
        public void run() {}
    }

    /** Defines the classes Far and Farther itself. */
    private static final class Loader extends ClassLoader {
        Loader() {
            super(Upcalls.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            return super.loadClass(name, resolve);
        }

        @Override
        public Class<?> loadClass(String name) throws ClassNotFoundException {
            if (name.equals(Farther.class.getName())) {
                Ask.here();
            }
            return name.startsWith(Far.class.getName()) ? define(name) : super.loadClass(name);
        }

        private Class<?> define(String name) throws ClassNotFoundException {
            try (InputStream in = getResourceAsStream(name + ".class")) {
                byte[] bytes = new byte[1 << 16];
                int length = 0;
                for (int count = in.read(bytes); count >= 0; count = in.read(bytes, length, bytes.length - length)) {
                    length += count;
                }
                return defineClass(name, bytes, 0, length);
            } catch (IOException error) {
                throw new ClassNotFoundException(name, error);
            }
        }
    }

    /** Public, since it is loaded by another class loader. */
    public static final class Far implements Runnable {
        @Override
        public void run() {
            Farther.meet();
        }
    }

    public static final class Farther {
        static void meet() {}
    }

    private static final class Finalized {
        static final CountDownLatch DONE = new CountDownLatch(1);

        @Override
        @SuppressWarnings({"deprecation", "removal"})
        protected void finalize() {
            Ask.here();
            DONE.countDown();
        }
    }

    private static final class Failing implements Runnable {
        @Override
        public void run() {
            throw new IllegalStateException("meant to be uncaught");
        }
    }

    private static final class Last implements Thread.UncaughtExceptionHandler {
        @Override
        public void uncaughtException(Thread thread, Throwable error) {
            Ask.here();
        }
    }

    private static final class Hook extends Thread {
        @Override
        public void run() {
            Ask.here();
        }
    }
}
