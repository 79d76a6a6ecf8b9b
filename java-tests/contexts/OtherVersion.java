/*
 * A program includes a library of another version than the agent's. The agent ignores everything
 * from it, so it must print a warning, once. Without the warning the user would search for the
 * contexts in vain.
 *
 * @test
 * @summary a library of another version is reported, once
 * @key newest
 * @library /lib older
 * @build dev.vouch.test.* dev.vouch.Agent
 * @run main OtherVersion
 */

import dev.vouch.Agent;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Vm;

public class OtherVersion {
    public static void main(String[] args) {
        Run run = Vm.with("interval=1ms").run(Program.class).ok();
        Check.equal("false", run.value("here"), "whether the library takes the agent for one that it knows");
        long told = run.vouchLines().stream().filter(line -> line.contains("of another version than the agent")).count();
        Check.equal(1L, told, "lines that say so");
    }

    static class Program {
        public static void main(String[] args) {
            System.out.println("here=" + (Agent.isHere() || Agent.isHere()));
        }
    }
}
