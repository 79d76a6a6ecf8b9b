/*
 * The controls of the truth lab: a walker is broken on purpose, in each way in which a walk can be
 * wrong. The lab must recognise each kind exactly, in a direct call and in a signal. Once the
 * walker is repaired, it must agree again, and Vouch's own walker must agree throughout. Without
 * these controls a table full of "same" would prove nothing.
 *
 * @test
 * @summary each kind of difference is recognised when it is made on purpose
 * @library /lib
 * @build dev.vouch.test.* dev.vouch.lab.* dev.vouch.Oracle
 * @run main Controls
 */

import dev.vouch.Oracle;
import dev.vouch.lab.Ask;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Vm;

public class Controls {
    private static final String[] KINDS =
        {"truncated", "gap", "extra", "wrong_method", "wrong_bci", "null_method", "nativeness", "unwalked"};

    public static void main(String[] args) {
        Run run = Vm.lab("lab").noFiles().flags("-Djava.library.path=" + Vm.labAgent().getParent()).run(Program.class).ok();
        for (String kind : KINDS) {
            // For "no frames" the broken walker returns the code of unknown_Java.
            String told = kind.equals("unwalked") ? "unwalked:unknown_Java" : kind;
            Check.equal(heads(told, "same"), run.value(kind), "what is told of a walker that is broken by " + kind);
        }
        for (String sound : new String[] {"sound", "mended"}) {
            Check.equal(heads("same", "same"), run.value(sound), "what is told of a walker that is " + sound);
        }
        Check.equal(heads("cut", "cut"), run.value("limit"), "what is told at the depth limit");
        Check.equal("suspended gap;own-suspended same", run.value("other"), "what is told of another thread's broken walk");
    }

    /**
     * The expected answer for the calling thread, by AsyncGetCallTrace and by Vouch's own walker.
     * The latter is never broken.
     */
    private static String heads(String asgct, String own) {
        return "direct " + asgct + ";signal " + asgct + ";own-direct " + own + ";own-signal " + own;
    }

    static class Program {
        private static int depth = 100;

        public static void main(String[] args) throws Exception {
            print("sound", outer());
            for (String kind : KINDS) {
                Oracle.breakWalker(kind);
                print(kind, outer());
            }
            Oracle.breakWalker(null);
            print("mended", outer());
            depth = 3;
            print("limit", outer());
            Thread sleeper = new Thread(Program::sleep, "sleeper");
            sleeper.setDaemon(true);
            sleeper.start();
            while (sleeper.getState() != Thread.State.TIMED_WAITING) {
                Thread.sleep(1);
            }
            Oracle.breakWalker("gap");
            print("other", Oracle.other(sleeper, 100));
        }

        private static String outer() {
            return inner();
        }

        private static String inner() {
            return Oracle.self(depth);
        }

        private static void sleep() {
            try {
                Thread.sleep(100_000);
            } catch (InterruptedException end) {
                throw new IllegalStateException(end);
            }
        }

        /** Prints the heads of an answer in one line. */
        private static void print(String name, String answer) {
            System.out.println(name + "=" + Ask.heads(answer));
        }
    }
}
