/*
 * Callers are missing if a class load has invalidated their code
 *
 * A caller was compiled on the assumption that `pass` has one implementation. While the caller
 * waits for `pass`, a class with another implementation is loaded. The caller's code is made not
 * entrant, but its frame stays. HotSpot replaces the frame's return address by that of the
 * deoptimisation handler. When the callee returns, that handler turns the frame into interpreter
 * frames. The walk takes this address for the end of the stack. It reports success, and all older
 * frames are missing, of any kind.
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
