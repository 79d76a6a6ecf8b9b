/*
 * Callers whose code a class load has invalidated are missing
 *
 * A caller was compiled on the assumption that `pass` has one implementation. While it waits for `pass`, a class with
 * another one is loaded. Its code is made not entrant, and the frame stays: its return address is replaced by that of
 * the deoptimisation handler, so that it is turned into interpreter frames when the callee returns. The walk takes that
 * address for the end of the stack. It reports success, and all older frames are lost, whatever they are.
 *
 * Seen in: LazyDeopt.* Redefined.compiled Redefined.compiled-retransformed
 * Shows: truncated on 8-
 * Run: -XX:-BackgroundCompilation
 */

import dev.vouch.Oracle;

public class DeoptimisedCallers {
    static class Base {
        void pass(Runnable next) {
            next.run();
        }
    }

    /** Not loaded until it is needed. */
    static class Derived extends Base {
        @Override
        void pass(Runnable next) {}
    }

    static class LoadThenAsk implements Runnable {
        @Override
        public void run() {
            new Derived();
            System.out.println(Oracle.self(100));
        }
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

    static void caller(Base base, Runnable next) {
        base.pass(next);
    }

    public static void main(String[] args) {
        Base base = new Base();
        Runnable[] others = {new One(), new Two(), new Three()};
        for (int i = 0; i < 100_000; i++) {
            caller(base, others[i % 3]);
        }
        caller(base, new LoadThenAsk());
    }
}
