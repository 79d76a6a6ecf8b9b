/*
 * SIGPROF has a handler, as an earlier profiler may leave it. The agent says what the user can do,
 * and with signal= it samples by another signal. It refuses a signal that has a handler or another
 * purpose.
 *
 * @test
 * @summary signal= selects another signal than SIGPROF, with each engine, at start and on attach
 * @key lts
 * @library /lib
 * @build dev.vouch.test.*
 * @run main/timeout=200 OtherSignal
 */

import java.io.IOException;
import java.nio.file.Path;

import dev.vouch.test.Attach;
import dev.vouch.test.Burn;
import dev.vouch.test.CCompiler;
import dev.vouch.test.Check;
import dev.vouch.test.Refusal;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Vm;

public class OtherSignal {
    public static void main(String[] args) throws IOException {
        Path foreign = CCompiler.library("foreign");
        Refusal.of(Vm.with("").flags("-agentpath:" + foreign), "SIGPROF is taken", "restart the JVM", "signal=SIGUSR1");
        for (String options : new String[] {
            "signal=SIGUSR1", "signal=SIGVTALRM,engine=timer", "signal=SIGRTMIN+3,engine=timer", "signal=SIGRTMIN+3",
        }) {
            sampled(Vm.with("interval=1ms," + options).flags("-agentpath:" + foreign).run(Waits.class, "now").ok(), options);
        }
        refused();
        late(foreign);
    }

    private static void sampled(Run run, String options) {
        Check.atLeast(100, run.profile().track("main").weightOf("OtherSignal$Waits.main"), "weight of main with " + options);
        Check.equal("[profile.json, report.json]", run.files().toString(), "files");
    }

    private static void refused() {
        Refusal.of(Vm.with("signal=SIGUSR2"), "signal=SIGUSR2: the JVM needs it to suspend threads");
        Refusal.of(Vm.with("signal=SIGSEGV"), "signal=SIGSEGV: faults arrive as it");
        Refusal.of(Vm.with("signal=SIGCHLD"), "signal=SIGCHLD: the kernel sends it");
        Refusal.of(Vm.with("signal=none"), "signal=none: must be SIGPROF, SIGUSR1");
        Refusal.of(Vm.with("signal=SIGUSR1,engine=itimer"), "engine=itimer has only SIGPROF");
        Refusal.of(Vm.with("signal=SIGRTMIN+3,engine=perf"), "engine=perf cannot use signal=SIGRTMIN+3");
    }

    /** In a running JVM: an agent has taken SIGPROF, and the program itself has taken SIGVTALRM. */
    private static void late(Path foreign) {
        try (Running running = Vm.without().flags("-agentpath:" + foreign).start(Waits.class, "handles")) {
            running.awaitOut("ready");
            try (Attach attach = Attach.to(running)) {
                Check.that(attach.load("out=late.json") != 0, "SIGPROF was taken from its owner");
                running.awaitErr("[vouch] SIGPROF is taken");
                Check.that(attach.load("out=late.json,signal=SIGVTALRM") != 0, "SIGVTALRM was taken from its owner");
                running.awaitErr("[vouch] SIGVTALRM is taken");
                attach.must("out=profile.json,report=report.json,signal=SIGUSR1");
            }
            running.stdin().println("end");
            sampled(running.waitFor().ok(), "attach");
        }
    }

    static class Waits {
        public static void main(String[] args) throws IOException {
            if (args[0].equals("handles")) {
                sun.misc.Signal.handle(new sun.misc.Signal("VTALRM"), signal -> {});
            }
            System.out.println("ready");
            if (!args[0].equals("now")) {
                System.in.read();
            }
            Burn.millis(200);
        }
    }
}
