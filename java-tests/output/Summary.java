/*
 * The summary is four lines on stderr, each marked as Vouch's, among the program's own unchanged
 * lines. `verbose` prints more. `quiet` prints nothing, so that a script that reads the program's
 * output never sees the profiler.
 *
 * @test
 * @summary four marked lines on stderr, more with verbose, none with quiet; own output is unchanged
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main Summary
 */

import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Vm;

public class Summary {
    private static final String WARNING = "believe nothing of this profile";

    public static void main(String[] args) {
        Run without = Vm.without().run(Program.class);
        Check.equal(Program.EXIT, without.exit, "exit code without the agent");
        Check.equal(Arrays.asList("an out line", "and one more"), without.out, "stdout without the agent");
        Check.equal(Arrays.asList("an err line", "and the last"), without.err, "stderr without the agent");

        for (String engine : new String[] {"auto", "timer", "itimer"}) {
            // Several files make this line long.
            Run run = Vm.with("out=a.json,out=b.json.gz,out=c.folded,engine=" + engine).run(Program.class);
            List<String> lines = run.vouchLines();
            Check.equal(4, lines.size(), "lines of the summary " + lines);
            // The summary names the command beside the library, since no test has it on its PATH.
            Check.contains(lines.get(0), "/vouch top a.json, ", "first line");
            Check.contains(lines.get(1), " by self time: dev.vouch.test.Burn.", "second line");
            Check.contains(lines.get(2), "sampled ", "third line");
            Check.contains(lines.get(3), grouped(run.report().signals()) + " samples, ", "fourth line");
            written(run, lines);
            sameOutput(without, run);

            run = Vm.with("verbose,out=a.json,out=b.json.gz,out=c.folded,engine=" + engine).run(Program.class);
            lines = run.vouchLines();
            Check.atLeast(6, lines.size(), "lines of the verbose summary " + lines);
            sameOutput(without, run);
            String all = String.join("\n", lines);
            Check.contains(all, grouped(run.report().signals()) + " signals", "summary");
            Check.contains(all, run.report().engine(), "summary");
            written(run, lines);
        }

        Run broken = Vm.lab("break=gap/3").run(Program.class);
        Check.equal(5, broken.vouchLines().size(), "lines of the summary with a warning " + broken.vouchLines());
        Check.contains(broken.vouchLines().get(0), WARNING, "first line");
        broken = Vm.lab("quiet,break=gap/3").run(Program.class);
        Check.equal(1, broken.vouchLines().size(), "warnings under quiet " + broken.vouchLines());
        Check.contains(broken.vouchLines().get(0), WARNING, "warning under quiet");

        Run quiet = Vm.with("quiet").run(Program.class);
        Check.empty(quiet.vouchLines(), "lines of the agent's under quiet");
        sameOutput(without, quiet);
        Check.atLeast(Program.MS / 2, quiet.profile().weight(), "weight of the profile under quiet");
    }

    private static void written(Run run, List<String> lines) {
        for (String file : new String[] {"a.json", "b.json.gz", "c.folded", "report.json"}) {
            Check.contains(String.join("\n", lines), file, "summary");
            Check.that(Files.exists(run.dir.resolve(file)), file + " was written");
        }
    }

    private static void sameOutput(Run without, Run with) {
        Check.equal(without.exit, with.exit, "exit code with the agent");
        Check.equal(without.out, with.out, "stdout with the agent");
        List<String> own = new ArrayList<>(with.err);
        own.removeAll(with.vouchLines());
        Check.equal(without.err, own, "the program's own lines on stderr with the agent");
    }

    /** Formats 12345 as 12,345. */
    private static String grouped(long number) {
        return String.format(java.util.Locale.ROOT, "%,d", number);
    }

    static class Program {
        static final int EXIT = 3;
        static final long MS = 100;

        public static void main(String[] args) {
            System.out.println("an out line");
            System.err.println("an err line");
            Burn.millis(MS);
            System.out.println("and one more");
            System.err.println("and the last");
            System.exit(EXIT);
        }
    }
}
