/*
 * The controls of the truth lab: a walker that is broken on purpose, in each way in which one can be wrong. Each must be
 * recognised as itself and as nothing else, by a direct call and by a signal; mended, it must agree again. Without this,
 * a table full of "same" would say nothing.
 *
 * @test
 * @summary each kind of difference is recognised when it is made on purpose
 * @library /lib
 * @build dev.vouch.test.* dev.vouch.lab.* dev.vouch.Oracle
 * @run main Controls
 */

import java.util.Arrays;
import java.util.List;

import dev.vouch.Oracle;
import dev.vouch.lab.Ask;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Vm;

public class Controls {
    private static final String[] KINDS =
        {"truncated", "gap", "extra", "wrong_method", "wrong_bci", "null_method", "nativeness", "unwalked"};

    public static void main(String[] args) {
        Run run = Vm.with("lab").noFiles().flags("-Djava.library.path=" + Vm.agent().getParent()).run(Program.class).ok();
        for (String kind : KINDS) {
            // The broken walker's code for "no frames" is that of unknown_Java.
            String told = kind.equals("unwalked") ? "unwalked:unknown_Java" : kind;
            Check.equal(Arrays.asList("direct " + told, "signal " + told), heads(run, kind), "what is told of a walker that is broken by " + kind);
        }
        for (String sound : new String[] {"sound", "mended"}) {
            Check.equal(Arrays.asList("direct same", "signal same"), heads(run, sound), "what is told of a walker that is " + sound);
        }
        Check.equal(Arrays.asList("direct cut", "signal cut"), heads(run, "limit"), "what is told at the depth limit");
        Check.equal(Arrays.asList("suspended gap"), heads(run, "other"), "what is told of another thread's broken walk");
    }

    /** The way and the kinds of each walk that the program asked for under this name. */
    private static List<String> heads(Run run, String name) {
        return Arrays.asList(run.value(name).split(";"));
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

        /** The heads of an answer in one line. */
        private static void print(String name, String answer) {
            System.out.println(name + "=" + Ask.heads(answer));
        }
    }
}
