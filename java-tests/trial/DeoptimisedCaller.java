/*
 * A class is loaded that invalidates compiled code which is running, further out on the stack.
 * AsyncGetCallTrace ends at the first such frame. async-profiler's own walker leaves the frame out,
 * with all methods inlined there, and has the first bytecode of the method further out.
 *
 * Run: -XX:-BackgroundCompilation
 */

public class DeoptimisedCaller {
    static class Base {
        void pass(Runnable next) {
            next.run();
        }
    }

    static class Derived extends Base {
        @Override
        void pass(Runnable next) {}
    }

    static int sink;

    static class One implements Runnable {
        @Override
        public void run() {
            sink += 1;
        }
    }

    static class Two implements Runnable {
        @Override
        public void run() {
            sink += 2;
        }
    }

    static class Three implements Runnable {
        @Override
        public void run() {
            sink += 3;
        }
    }

    static class Work implements Runnable {
        @Override
        public void run() {
            new Derived();
            for (long end = System.nanoTime() + 2_000_000_000L; System.nanoTime() < end;) {
                sink += 3;
            }
        }
    }

    static void caller(Base base, Runnable next) {
        base.pass(next);
    }

    public static void main(String[] args) {
        Base base = new Base();
        Runnable[] others = {new One(), new Two(), new Three()};
        for (int i = 0; i < 100_000; i++) {
            caller(base, others[i % 3]);
        }
        caller(base, new Work());
    }
}
