/*
 * C calls Java through java.lang.foreign: from qsort, from a qsort inside another's comparator, and
 * as a new thread's first function. In a further case a thread waits in a down-call.
 *
 * @test
 * @summary up-calls and down-calls through the foreign-function interface
 * @requires jdk.version.major >= 22
 * @library /lib
 * @build dev.vouch.test.* dev.vouch.lab.* dev.vouch.Oracle
 * @run main/timeout=300 Foreign
 */

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;

import dev.vouch.lab.Ask;
import dev.vouch.lab.Lab;
import dev.vouch.lab.Mode;
import dev.vouch.lab.Route;
import dev.vouch.lab.Scenario;

public class Foreign extends Scenario {
    private static final Linker LINKER = Linker.nativeLinker();
    private static final FunctionDescriptor COMPARATOR = FunctionDescriptor.of(JAVA_INT, pointerTo(JAVA_INT), pointerTo(JAVA_INT));
    private static final MethodType COMPARES = MethodType.methodType(int.class, MemorySegment.class, MemorySegment.class);
    private static final MethodHandle QSORT = function("qsort", FunctionDescriptor.ofVoid(ADDRESS, JAVA_LONG, JAVA_LONG, ADDRESS));
    /** Keeps C's memory for as long as the JVM lives. */
    private static final Arena ALWAYS = Arena.global();
    private static final MemorySegment NUMBERS = ALWAYS.allocateFrom(JAVA_INT, 1, 2);

    public static void main(String[] args) throws Throwable {
        Lab.main(new Foreign(), args);
    }

    @Override
    protected String[] cases() {
        return new String[] {"qsort-cold", "qsort-warm", "bound-cold", "bound-warm", "nested-cold", "nested-warm",
            "after-cold", "after-warm", "thread-cold", "thread-warm", "resting-cold", "resting-warm"};
    }

    @Override
    protected String[] flags(String name) {
        return new String[] {"-XX:+PrintCompilation", "-XX:CompileCommand=dontinline,Foreign*::go",
            "--enable-native-access=ALL-UNNAMED"};
    }

    @Override
    protected String unfit(String name, int jdk, Mode mode) {
        return name.endsWith("warm") && !mode.compiles() ? "nothing is compiled" : null;
    }

    @Override
    protected void run(String name) throws Throwable {
        String what = name.substring(0, name.indexOf('-'));
        boolean warm = name.endsWith("warm");
        switch (what) {
            case "thread":
                Ask.truth("Ask.here", "Threaded.body");
                take(new Threaded(), warm);
                break;
            case "resting":
                rest(warm);
                break;
            default:
                take(route(what), warm);
        }
    }

    private static void take(Route route, boolean warm) throws Throwable {
        if (warm) {
            route.warm();
        } else {
            route.cold();
        }
    }

    private static Route route(String what) throws ReflectiveOperationException {
        switch (what) {
            case "qsort":
                Ask.truth("Ask.here", "Foreign.compare", "Qsort.go", "Foreign.run", "Foreign.main");
                return new Qsort();
            case "bound":
                Ask.truth("Ask.here", "Bound.compare", "Bound.go", "Foreign.run", "Foreign.main");
                return new Bound();
            case "nested":
                Ask.truth("Ask.here", "Foreign.compare", "Nested.sort", "Nested.go", "Foreign.run", "Foreign.main");
                return new Nested();
            case "after":
                Ask.truth("Ask.here", "After.go", "Foreign.run", "Foreign.main");
                return new After();
            default:
                throw new AssertionError(what);
        }
    }

    /** A down-call to read(2) waits for a byte from a pipe. */
    private static void rest(boolean warm) throws Throwable {
        Ask.truth("Reads.go", "Reads.run", "Thread.run");
        Reads reads = new Reads();
        if (warm) {
            reads.fill(Reads.WARM);
            reads.repeat(Reads.WARM);
            Ask.needs(" [14] +Foreign\\$Reads::go \\(\\d+ bytes\\)$");
        } else {
            reads.fill(1);
            reads.go();
        }
        Thread thread = new Thread(reads);
        thread.start();
        Ask.await(reads.there);
        while (!reads.resting()) {
            Thread.sleep(1);
        }
        Ask.other(thread);
        reads.fill(1);
        thread.join();
    }

    private static MemoryLayout pointerTo(MemoryLayout target) {
        return ADDRESS.withTargetLayout(target);
    }

    private static MethodHandle function(String name, FunctionDescriptor type) {
        return LINKER.downcallHandle(LINKER.defaultLookup().find(name).orElseThrow(), type);
    }

    private static MemorySegment comparator(MethodHandle compare) {
        return LINKER.upcallStub(compare, COMPARATOR, ALWAYS);
    }

    /** Sorting two numbers takes exactly one comparison. */
    static void sort(MemorySegment comparator) throws Throwable {
        QSORT.invokeExact(NUMBERS, 2L, 4L, comparator);
    }

    static int compare(MemorySegment left, MemorySegment right) {
        Ask.here();
        return -1;
    }

    static final class Qsort extends Route {
        private final MemorySegment comparator =
            comparator(MethodHandles.lookup().findStatic(Foreign.class, "compare", COMPARES));

        Qsort() throws ReflectiveOperationException {}

        @Override
        protected void go() throws Throwable {
            sort(comparator);
        }
    }

    /** The comparator is an object's method. */
    static final class Bound extends Route {
        private final MemorySegment comparator =
            comparator(MethodHandles.lookup().findVirtual(Bound.class, "compare", COMPARES).bindTo(this));
        private int compared;

        Bound() throws ReflectiveOperationException {}

        @Override
        protected void go() throws Throwable {
            sort(comparator);
        }

        int compare(MemorySegment left, MemorySegment right) {
            Ask.here();
            return compared++;
        }
    }

    /** The comparator itself sorts, so that down-calls and up-calls nest. */
    static final class Nested extends Route {
        private static final MemorySegment INNER;

        static {
            try {
                INNER = comparator(MethodHandles.lookup().findStatic(Foreign.class, "compare", COMPARES));
            } catch (ReflectiveOperationException error) {
                throw new AssertionError(error);
            }
        }

        private final MemorySegment outer =
            comparator(MethodHandles.lookup().findStatic(Nested.class, "sort", COMPARES));

        Nested() throws ReflectiveOperationException {}

        @Override
        protected void go() throws Throwable {
            Foreign.sort(outer);
        }

        /** The target of an up-call must not throw, which would end the JVM. */
        static int sort(MemorySegment left, MemorySegment right) {
            try {
                Foreign.sort(INNER);
                return -1;
            } catch (Throwable error) {
                throw new AssertionError(error);
            }
        }
    }

    /** Asks after the down-call and its up-call have returned. */
    static final class After extends Route {
        private static int compared;
        private final MemorySegment comparator =
            comparator(MethodHandles.lookup().findStatic(After.class, "compare", COMPARES));

        After() throws ReflectiveOperationException {}

        @Override
        protected void go() throws Throwable {
            sort(comparator);
            Ask.here();
        }

        static int compare(MemorySegment left, MemorySegment right) {
            return compared++;
        }
    }

    /** A C thread that is unknown to the JVM until its up-call. */
    static final class Threaded extends Route {
        private static final MethodHandle CREATE =
            function("pthread_create", FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS, ADDRESS));
        private static final MethodHandle JOIN = function("pthread_join", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS));

        private final MemorySegment id = ALWAYS.allocate(JAVA_LONG);
        private final MemorySegment body;

        Threaded() throws ReflectiveOperationException {
            MethodType type = MethodType.methodType(MemorySegment.class, MemorySegment.class);
            MethodHandle handle = MethodHandles.lookup().findStatic(Threaded.class, "body", type);
            body = LINKER.upcallStub(handle, FunctionDescriptor.of(ADDRESS, ADDRESS), ALWAYS);
        }

        @Override
        protected void go() throws Throwable {
            int failed = (int) CREATE.invokeExact(id, MemorySegment.NULL, body, MemorySegment.NULL);
            Ask.trigger(failed == 0, "pthread_create failed");
            failed = (int) JOIN.invokeExact(id.get(JAVA_LONG, 0), MemorySegment.NULL);
            Ask.trigger(failed == 0, "pthread_join failed");
        }

        static MemorySegment body(MemorySegment nothing) {
            Ask.here();
            return MemorySegment.NULL;
        }
    }

    /** Reads a byte from a pipe. */
    static final class Reads implements Runnable {
        static final int WARM = 25_000;

        private static final FunctionDescriptor TRANSFER = FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG);
        private static final MethodHandle PIPE = function("pipe", FunctionDescriptor.of(JAVA_INT, ADDRESS));
        private static final MethodHandle GETTID = function("gettid", FunctionDescriptor.of(JAVA_INT));
        private static final MethodHandle READ = function("read", TRANSFER);
        private static final MethodHandle WRITE = function("write", TRANSFER);

        final CountDownLatch there = new CountDownLatch(1);
        private final MemorySegment ends = ALWAYS.allocate(JAVA_INT, 2);
        private final MemorySegment bytes = ALWAYS.allocate(JAVA_BYTE, WARM);
        private volatile int tid;

        Reads() throws Throwable {
            int failed = (int) PIPE.invokeExact(ends);
            Ask.trigger(failed == 0, "pipe failed");
        }

        void fill(int count) throws Throwable {
            long written = (long) WRITE.invokeExact(ends.getAtIndex(JAVA_INT, 1), bytes, (long) count);
            Ask.trigger(written == count, "write failed");
        }

        void repeat(int count) throws Throwable {
            for (int i = 0; i < count; i++) {
                go();
            }
        }

        void go() throws Throwable {
            long read = (long) READ.invokeExact(ends.getAtIndex(JAVA_INT, 0), bytes, 1L);
            Ask.trigger(read == 1, "read failed");
        }

        @Override
        public void run() {
            try {
                tid = (int) GETTID.invokeExact();
                there.countDown();
                go();
            } catch (Throwable error) {
                throw new AssertionError(error);
            }
        }

        /**
         * True if the thread sleeps in read(2) on this pipe: the kernel lists the system call's
         * number first.
         */
        boolean resting() throws Exception {
            String path = "/proc/self/task/" + tid + "/syscall";
            String[] words = Files.readString(Path.of(path)).split(" ");
            String end = "0x" + Integer.toHexString(ends.getAtIndex(JAVA_INT, 0));
            return words.length > 1 && words[0].equals("0") && words[1].equals(end);
        }
    }
}
