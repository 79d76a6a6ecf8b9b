/*
 * Two profilers that use SIGPROF would silently distort each other. The second one is refused
 * before the program starts. It may be the same library, a copy under another name, or another
 * profiler.
 *
 * @test
 * @summary a second profiler in one JVM is refused with a clear message and exit code 1
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main TwoAgents
 */

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.List;

import dev.vouch.test.Attach;
import dev.vouch.test.Burn;
import dev.vouch.test.CCompiler;
import dev.vouch.test.Check;
import dev.vouch.test.Refusal;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Vm;

public class TwoAgents {
    public static void main(String[] args) throws IOException {
        Path copy = Paths.get("libother.so").toAbsolutePath();
        Files.copy(Vm.agent(), copy);
        once("Vouch is loaded already", Refusal.of(Vm.with("").flags("-agentpath:" + Vm.agent() + "=out=first.json")));
        once("SIGPROF is taken", Refusal.of(Vm.with("").flags("-agentpath:" + copy + "=out=first.json")));
        once("another copy of Vouch is loaded", Refusal.of(Vm.with("").flags("-agentpath:" + copy + "=out=first.json,signal=SIGUSR1")));
        lateCopy(copy);

        Path foreign = CCompiler.library("foreign");
        once("SIGPROF is taken", Refusal.of(Vm.with("").flags("-agentpath:" + foreign)));
    }

    /** Exactly one line contains the sentence. */
    private static void once(String sentence, List<String> said) {
        Check.equal(1, said.stream().filter(line -> line.contains(sentence)).count(), "lines with <" + sentence + "> of " + said);
    }

    /**
     * Loads a copy into a JVM that is being profiled. The copy is refused, and the first recording
     * goes on undisturbed.
     */
    private static void lateCopy(Path copy) {
        try (Running running = Vm.with("interval=1ms").start(Waits.class)) {
            running.awaitOut("ready");
            try (Attach attach = Attach.to(running)) {
                Check.that(attach.load(copy, "out=second.json") != 0, "a second copy was let in");
            }
            running.awaitErr("[vouch] SIGPROF is taken");
            running.stdin().println("end");
            Run run = running.waitFor().ok();
            Check.equal("[profile.json, report.json]", run.files().toString(), "files");
            Check.atLeast(30, run.profile().track("main").weightOf("TwoAgents$Waits.main"), "weight of main");
        }
    }

    static class Waits {
        public static void main(String[] args) throws IOException {
            System.out.println("ready");
            System.in.read();
            Burn.millis(60);
        }
    }
}
