/*
 * A class is changed while its methods are on the stack. After a redefinition with different
 * bytecode, the old method is obsolete but runs on. After a retransformation to the same bytecode,
 * the old method is as good as the new one.
 *
 * The class is Target, which each case loads anew. Its number is the operand of its only `bipush
 * 77`; a redefinition changes this operand in the class file.
 *
 * @test
 * @summary a redefined or retransformed class with methods on the stack
 * @library /lib
 * @build dev.vouch.test.* dev.vouch.lab.* dev.vouch.Oracle
 * @run main/timeout=300 Redefined
 */

import java.lang.instrument.ClassDefinition;
import java.lang.instrument.Instrumentation;
import java.lang.instrument.UnmodifiableClassException;
import java.util.concurrent.CountDownLatch;

import dev.vouch.lab.Ask;
import dev.vouch.lab.Lab;
import dev.vouch.lab.Mode;
import dev.vouch.lab.Scenario;
import dev.vouch.test.JavaAgent;
import dev.vouch.test.SelfDefiningLoader;
import dev.vouch.lab.Warm;

public class Redefined extends Scenario {
    private static final byte NUMBER = 77;
    private static final Runnable NOTHING = Warm.anything(0);

    private static Instrumentation instrumentation;

    public static void main(String[] args) throws Throwable {
        Lab.main(new Redefined(), args);
    }

    /** The JVM calls this before main, with the object that can redefine classes. */
    public static void premain(String options, Instrumentation all) {
        instrumentation = all;
    }

    @Override
    protected String[] cases() {
        return new String[] {"not-yet", "once", "twice", "old-and-new", "three-versions", "retransformed", "returned",
            "other-thread", "compiled", "compiled-retransformed"};
    }

    @Override
    protected String unfit(String name, int jdk, Mode mode) {
        return name.startsWith("compiled") && !mode.compiles() ? "nothing is compiled" : null;
    }

    /** Each compiled case has its own JVM, so that the discarded code is its own. */
    @Override
    protected String[] flags(String name) {
        String agent = JavaAgent.option(Redefined.class);
        return name.startsWith("compiled")
            ? new String[] {agent, "-XX:+PrintCompilation", "-XX:CompileCommand=dontinline,Redefined$Target::inner", "-Dlab.case=" + name}
            : new String[] {agent};
    }

    @Override
    protected void run(String name) throws Throwable {
        Changing target = (Changing) new SelfDefiningLoader(Target.class).load().newInstance();
        Runnable redefine = new Redefine(target, 78);
        Runnable ask = new Asker();
        switch (name) {
            case "not-yet":
                truth();
                target.outer(ask, redefine, NOTHING);
                number(78, target);
                break;
            case "once":
                truth();
                target.outer(redefine, ask, NOTHING);
                number(78, target);
                break;
            case "twice":
                truth();
                target.outer(new Both(redefine, new Redefine(target, 79)), ask, NOTHING);
                number(79, target);
                break;
            case "old-and-new":
                Ask.truth("Ask.here", "Asker.run", "Target.inner", "Target.outer", "Again.run", "Target.inner", "Target.outer",
                    "Redefined.run", "Redefined.main");
                target.outer(redefine, new Again(target, NOTHING, ask), NOTHING);
                number(78, target);
                break;
            case "three-versions":
                Ask.truth("Ask.here", "Asker.run", "Target.inner", "Target.outer", "Again.run", "Target.inner", "Target.outer",
                    "Again.run", "Target.inner", "Target.outer", "Redefined.run", "Redefined.main");
                Runnable third = new Again(target, NOTHING, ask);
                Runnable second = new Again(target, new Redefine(target, 79), third);
                target.outer(redefine, second, NOTHING);
                number(79, target);
                break;
            case "retransformed":
                truth();
                target.outer(new Retransform(target), ask, NOTHING);
                number(NUMBER, target);
                break;
            case "returned":
                Ask.truth("Ask.here", "Asker.run", "Target.last", "Target.outer", "Redefined.run", "Redefined.main");
                target.outer(redefine, NOTHING, ask);
                number(78, target);
                break;
            case "other-thread":
                otherThread(target, redefine);
                break;
            case "compiled":
                warm(target);
                truth();
                target.outer(redefine, ask, NOTHING);
                number(78, target);
                break;
            case "compiled-retransformed":
                warm(target);
                truth();
                target.outer(new Retransform(target), ask, NOTHING);
                number(NUMBER, target);
                break;
            default:
                throw new AssertionError(name);
        }
    }

    /** Target.inner is between these two, in some version: an obsolete one has no name. */
    private static void truth() {
        Ask.truth("Ask.here", "Asker.run", "Target.inner", "Target.outer", "Redefined.run", "Redefined.main");
    }

    private static void number(int expected, Changing target) {
        int found = target.outer(NOTHING, NOTHING, NOTHING);
        Ask.trigger(found == expected, "the class has not the bytecode that it ought to have now");
    }

    /** Makes the JVM compile the target; it must discard this code later. */
    private static void warm(Changing target) {
        for (int i = 0; i < Warm.TIMES; i++) {
            Runnable any = Warm.anything(i);
            target.outer(any, any, any);
        }
        Ask.needs(" [14] +Redefined\\$Target::inner \\(\\d+ bytes\\) +made not entrant");
    }

    private static void otherThread(Changing target, Runnable redefine) throws InterruptedException {
        Ask.truth("Waits.run", "Target.inner", "Target.outer", "Goes.run", "Thread.run");
        Waits waits = new Waits();
        Thread thread = new Thread(new Goes(target, waits));
        thread.start();
        Ask.await(waits.there);
        while (thread.getState() != Thread.State.WAITING) {
            Thread.sleep(1);
        }
        redefine.run();
        Ask.other(thread);
        waits.leave.countDown();
        thread.join();
        number(78, target);
    }

    /** Target's bytecode with another number. */
    static byte[] bytecode(byte number) {
        byte[] code = SelfDefiningLoader.bytecode(Target.class);
        int found = SelfDefiningLoader.renumber(code, NUMBER, number);
        Ask.trigger(found == 1, "the class file has not one bipush 77");
        return code;
    }

    public interface Changing {
        int outer(Runnable first, Runnable second, Runnable last);
    }

    public static final class Target implements Changing {
        @Override
        public int outer(Runnable first, Runnable second, Runnable last) {
            int number = inner(first, second);
            last(last);
            return number;
        }

        static int inner(Runnable first, Runnable second) {
            int number = 77;
            first.run();
            second.run();
            return number;
        }

        static void last(Runnable last) {
            last.run();
        }
    }

    static final class Redefine implements Runnable {
        private final Class<?> type;
        private final byte number;

        Redefine(Changing target, int number) {
            type = target.getClass();
            this.number = (byte) number;
        }

        @Override
        public void run() {
            try {
                instrumentation.redefineClasses(new ClassDefinition(type, bytecode(number)));
            } catch (ReflectiveOperationException | UnmodifiableClassException error) {
                throw new IllegalStateException(error);
            }
        }
    }

    static final class Retransform implements Runnable {
        private final Class<?> type;

        Retransform(Changing target) {
            type = target.getClass();
        }

        @Override
        public void run() {
            try {
                instrumentation.retransformClasses(type);
            } catch (UnmodifiableClassException error) {
                throw new IllegalStateException(error);
            }
        }
    }

    static final class Both implements Runnable {
        private final Runnable first;
        private final Runnable second;

        Both(Runnable first, Runnable second) {
            this.first = first;
            this.second = second;
        }

        @Override
        public void run() {
            first.run();
            second.run();
        }
    }

    /** Calls the target again, which runs its newest version. */
    static final class Again implements Runnable {
        private final Changing target;
        private final Runnable first;
        private final Runnable second;

        Again(Changing target, Runnable first, Runnable second) {
            this.target = target;
            this.first = first;
            this.second = second;
        }

        @Override
        public void run() {
            target.outer(first, second, NOTHING);
        }
    }

    static final class Asker implements Runnable {
        @Override
        public void run() {
            Ask.here();
        }
    }

    static final class Waits implements Runnable {
        final CountDownLatch there = new CountDownLatch(1);
        final CountDownLatch leave = new CountDownLatch(1);

        @Override
        public void run() {
            there.countDown();
            Ask.await(leave);
        }
    }

    static final class Goes implements Runnable {
        private final Changing target;
        private final Runnable step;

        Goes(Changing target, Runnable step) {
            this.target = target;
            this.step = step;
        }

        @Override
        public void run() {
            target.outer(NOTHING, step, NOTHING);
        }
    }
}
