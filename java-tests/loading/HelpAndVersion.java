/*
 * `help` and `version` are questions, not runs: they answer on stdout and exit well, without the
 * program. Users pipe the help into a pager, and scripts read the version from stdout and the exit
 * code.
 *
 * @test
 * @key newest
 * @summary help and version print on stdout, and exit with 0 before main
 * @library /lib
 * @build dev.vouch.test.*
 * @run main HelpAndVersion
 */

import java.util.List;

import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Vm;

public class HelpAndVersion {
    private static final String[] KEYS = {"out=", "report=", "interval=", "engine=", "depth=", "threads=", "start=",
        "duration=", "on-error=", "quiet", "verbose", "help", "version", "stop", "dump", "status"};

    public static void main(String[] args) {
        List<String> help = answer("help");
        String text = String.join("\n", help);
        for (String key : KEYS) {
            Check.that(text.matches("(?s).*\\b" + key + ".*"), "help does not explain " + key + ":\n" + text);
        }
        Check.atMost(40, help.size(), "lines of help: it must fit a screen");
        Check.atMost(100, help.stream().mapToInt(String::length).max().getAsInt(), "longest line of help");

        // jcmd interprets the text after a bare `=` itself. With the shell's quotes alone the agent
        // would receive only `out`.
        Check.contains(text, "'\"out=", "help on how to load into a running JVM");

        Check.equal(help, answer("interval=nonsense,help"), "help beside a mistake");

        List<String> version = answer("version");
        Check.equal(1, version.size(), "lines of version");
        Check.that(version.get(0).matches("vouch \\d+\\.\\d+\\.\\d+.*"), "not a version: " + version);
        Run run = Vm.with("").run(Program.class).ok();
        Check.equal("vouch " + run.report().vouch(), version.get(0), "version, as asked for and as reported");
    }

    private static List<String> answer(String options) {
        Run run = Vm.with(options).noFiles().run(Program.class).ok();
        Check.that(!run.out.contains(Program.HELLO), "the program has run");
        Check.empty(run.err, "stderr of " + options);
        Check.empty(run.files(), "files of " + options);
        return run.out;
    }

    static class Program {
        static final String HELLO = "the program has started";

        public static void main(String[] args) {
            System.out.println(HELLO);
        }
    }
}
