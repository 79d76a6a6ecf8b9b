/*
 * Go code in a JVM (a library that Java calls) runs on its own stacks, of a few hundred bytes at
 * first. A signal handler needs another stack, or it overwrites the memory below. Go ensures that
 * if it starts after the agent. Here the agent is attached after Go.
 *
 * @test
 * @summary a thread on a tiny stack survives the samples of an agent that was attached later
 * @key threads newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main SmallStacks
 */

import java.io.IOException;

import dev.vouch.test.Attach;
import dev.vouch.test.CCompiler;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Vm;

public class SmallStacks {
    private static final int MS = 300;

    public static void main(String[] args) throws IOException {
        String library = CCompiler.library("small").toString();
        for (String engine : new String[] {"auto", "itimer"}) {
            try (Running child = Vm.without().flags("-Xmx64m").start(Program.class, library)) {
                child.awaitOut("ready");
                try (Attach attach = Attach.to(child)) {
                    attach.must("interval=1ms,engine=" + engine + ",out=profile.json,report=report.json");
                    child.stdin().println();
                    child.awaitOut("done");
                    attach.must("stop");
                }
                child.stdin().println();
                Run run = child.waitFor().ok();
                run.profile().track("small stack").checkRan("[native]", MS);
            }
        }
    }

    static class Program {
        public static void main(String[] args) throws IOException {
            System.load(args[0]);
            System.out.println("ready");
            System.in.read();
            work(MS);
            System.out.println("done");
            System.in.read();
        }

        static native void work(int millis);
    }
}
