/*
 * Four users' requests are each done by several new threads: forks of a structured scope, and an
 * executor with a thread for each task. Each user has their own method, so the stack shows the true
 * user. With a wrapped thread factory, a fork inherits the context of the thread that forked it.
 * With a plain factory it has no context.
 *
 * @test
 * @summary a forked thread works for whom it was forked
 * @key newest
 * @requires jdk.version.major >= 21
 * @library /lib /api/src
 * @build dev.vouch.test.* dev.vouch.Vouch
 * @run main/timeout=200 Forks
 */

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadFactory;
import java.util.function.UnaryOperator;

import dev.vouch.Scope;
import dev.vouch.Vouch;
import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.Vm;

public class Forks {
    private static final String[] USERS = {"moe", "larry", "curly"};

    public static void main(String[] args) {
        for (String how : new String[] {"structured", "executor"}) {
            check(how, true);
        }
        check("structured", false);
    }

    private static void check(String how, boolean wrapped) {
        Run run = Vm.with("interval=1ms").flags("--enable-preview").run(Program.class, how, Boolean.toString(wrapped)).ok();
        long[] seen = new long[USERS.length];
        long missing = 0;
        for (Sample sample : run.profile().samples()) {
            for (int user = 0; user < USERS.length; user++) {
                if (!sample.leaf().isRefuted() && sample.has("Forks$Program." + USERS[user])) {
                    String said = sample.says("value");
                    missing += said == null ? 1 : 0;
                    Check.that(said == null || said.equals(USERS[user]), how + ": the context of " + sample + " is " + said);
                    seen[user]++;
                }
            }
        }
        long all = Arrays.stream(seen).sum();
        for (long samples : seen) {
            Check.that(samples > 0, how + ": a user without a sample");
        }
        if (wrapped) {
            // The walker cannot always find the virtual thread that a carrier has mounted.
            Check.atMost(0.02 * all, missing, how + ": samples of " + all + " that are in no context");
        } else {
            Check.equal(all, missing, how + ": samples of forks of nobody's that are in no context");
        }
    }

    static class Program {
        private static final int REQUESTS = 30;
        private static final int FORKS = 4;
        private static final int STEPS = 2_000_000;

        public static void main(String[] args) throws Exception {
            ThreadFactory virtual = (ThreadFactory) factory();
            ThreadFactory threads = Boolean.parseBoolean(args[1]) ? Vouch.wrapThreads(virtual) : virtual;
            try (Closed executor = new Closed(threads)) {
                for (int request = 0; request < REQUESTS; request++) {
                    int user = request % USERS.length;
                    List<Callable<Long>> work = new ArrayList<>();
                    for (int fork = 0; fork < FORKS; fork++) {
                        work.add(() -> user == 0 ? moe() : user == 1 ? larry() : curly());
                    }
                    try (Scope scope = Vouch.with(USERS[user])) {
                        if (args[0].equals("structured")) {
                            structured(threads, work);
                        } else {
                            executor.run(work);
                        }
                    }
                }
            }
        }

        private static Object factory() throws Exception {
            Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
            return Class.forName("java.lang.Thread$Builder").getMethod("factory").invoke(builder);
        }

        /** The preview API changed its shape in JDK 25, and lost a method in JDK 27. */
        private static void structured(ThreadFactory threads, List<Callable<Long>> work) throws Exception {
            Class<?> type = Class.forName("java.util.concurrent.StructuredTaskScope");
            Object scope = null;
            for (Method open : type.getMethods()) {
                if (open.getName().equals("open") && open.getParameterCount() == 2) {
                    Object joiner = joiner(open.getParameterTypes()[0]);
                    Method with = Class.forName(type.getName() + "$Configuration").getMethod("withThreadFactory", ThreadFactory.class);
                    UnaryOperator<Object> configure = configuration -> invoked(with, configuration, threads);
                    scope = open.invoke(null, joiner, configure);
                }
            }
            if (scope == null) {
                scope = type.getConstructor(String.class, ThreadFactory.class).newInstance("requests", threads);
            }
            for (Callable<Long> each : work) {
                type.getMethod("fork", Callable.class).invoke(scope, each);
            }
            type.getMethod("join").invoke(scope);
            type.getMethod("close").invoke(scope);
        }

        private static Object joiner(Class<?> type) throws Exception {
            try {
                return type.getMethod("awaitAll").invoke(null);
            } catch (NoSuchMethodException e) {
                return type.getMethod("awaitAllSuccessfulOrThrow").invoke(null);
            }
        }

        private static Object invoked(Method method, Object of, Object argument) {
            try {
                return method.invoke(of, argument);
            } catch (ReflectiveOperationException impossible) {
                throw new AssertionError(impossible);
            }
        }

        private static long moe() {
            return Burn.work(STEPS);
        }

        private static long larry() {
            return Burn.work(STEPS + 1);
        }

        private static long curly() {
            return Burn.work(STEPS + 2);
        }

        /** Runs each task on a new thread, and waits for all tasks in close(). */
        static final class Closed implements AutoCloseable {
            private final ExecutorService executor;

            Closed(ThreadFactory threads) throws Exception {
                Method each = Executors.class.getMethod("newThreadPerTaskExecutor", ThreadFactory.class);
                executor = (ExecutorService) each.invoke(null, threads);
            }

            void run(List<Callable<Long>> work) throws Exception {
                for (Future<Long> done : executor.invokeAll(work)) {
                    Burn.sink += done.get();
                }
            }

            @Override
            public void close() {
                executor.shutdown();
            }
        }
    }
}
