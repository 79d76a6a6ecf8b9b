/*
 * A mistyped option stops the JVM before the program starts. The message lists all mistakes at
 * once, with the right key for each. A user who types `intervall=10ms` must never get a profile at
 * another rate. Three mistakes must not cost three starts of a long run.
 *
 * @test
 * @key newest
 * @summary all mistakes of an option text come in one message, before main, with exit code 1
 * @library /lib
 * @build dev.vouch.test.*
 * @run main OptionMistakes
 */

import java.util.List;

import dev.vouch.test.Check;
import dev.vouch.test.Refusal;
import dev.vouch.test.Run;
import dev.vouch.test.Vm;

public class OptionMistakes {
    public static void main(String[] args) {
        allAtOnce();
        valuesAndPlacesTogether();
        runsAllTheSame();
        // Each mistake, and what its message must contain.
        refused("interval=10", "10ms or 10s");
        refused("interval=0ms", "between 50us and 10s");
        refused("depth=2k", "whole number");
        refused("threads=[", "not a regular expression");
        refused("engine", "engine needs a value");
        refused("quiet=yes", "takes no value");
        refused("verbose=yes", "takes no value");
        refused("quiet,verbose", "quiet and verbose exclude each other");
        refused("out=profile.txt", ".json, .json.gz, .folded, .html, .svg, .pb.gz or .otlp.gz");
        refused("report=report.html", "must end in .json");
        refused("out=%{VOUCH_TEST_NOT_SET}.json", "VOUCH_TEST_NOT_SET is not set");
        refused("depth=5,depth=6", "set twice");
        refused("xyzzyplugh=1", "the keys are out, report, measure, jfr, sources, recording, recording-limit, interval");
        refused("recording=sometimes", "recording=sometimes: must be one of on, keep, off");
        refused("recording-limit=64", "recording-limit=64: must be a whole number with KB, MB or GB");
        refused("recording-limit=1KB", "recording-limit=1KB: must be between 64KB and 1000GB");
        refused("sources=/nowhere/at/all", "sources=/nowhere/at/all: No such file");
        refused("out=a.folded,sources=.", "sources= puts text into a profile that is .json");
        refused("stop", "for a JVM that runs");
    }

    /**
     * Nine of ten options are wrong. Their nine messages come in the order of the text, and the
     * correct one is not mentioned.
     */
    private static void allAtOnce() {
        String wrong = "intervall=1ms,quit,engine=prof,depth=0,otu=x.json,thread=main,interval=1ms,duraton=1s,"
            + "strat=1s,reprot=r.json";
        String[][] mends = {
            {"intervall", "interval?"}, {"quit", "quiet?"}, {"engine=prof", "must be one of auto, perf, timer, itimer, poll"},
            {"depth=0", "from 1 to 65536"}, {"otu", "out?"}, {"thread", "threads?"}, {"duraton", "duration?"},
            {"strat", "start?"}, {"reprot", "report?"},
        };
        List<String> said = refused(wrong);
        Check.equal(mends.length + 1, said.size(), "lines of the message: a mistake each, and where help is " + said);
        for (int at = 0; at < mends.length; at++) {
            for (String part : mends[at]) {
                Check.contains(said.get(at), part, "line " + at);
            }
        }
        Check.contains(said.get(mends.length), "help", "last line");
    }

    /**
     * An unknown key, an invalid value and two unwritable outputs come in one message.
     */
    private static void valuesAndPlacesTogether() {
        refused("intervall=1ms,depth=x,out=/nowhere/at/all/p.json,report=/proc/r.json", "interval?", "whole number",
            "the folder of /nowhere/at/all/p.json does not exist", "/proc/r.json: cannot be written");
    }

    /**
     * With on-error=run a service starts whatever is wrong with its options. The agent prints all
     * mistakes and does nothing else.
     */
    private static void runsAllTheSame() {
        for (String wrong : new String[] {"out=%{VOUCH_TEST_NOT_SET}.json", "out=/nowhere/at/all/p.json", "depth=x", "stop"}) {
            Run run = Vm.with(wrong + ",on-error=run").noFiles().run(Program.class).ok();
            Check.equal("[the program runs]", run.out.toString(), "output with " + wrong);
            Check.empty(run.files(), "files with " + wrong);
            Check.equal("[vouch] the program runs without a profile (on-error=run)", run.vouchLines().get(run.vouchLines().size() - 1), "last line");
            Check.contains(String.join("\n", run.vouchLines()), wrong.equals("stop") ? "stop, dump" : wrong.split("[=}]")[1].replace("%{", ""), "the mistake");
        }
        refused("out=/nowhere/at/all/p.json,on-error=stop", "the folder of /nowhere/at/all/p.json does not exist");
        refused("on-error=never", "on-error=never: must be one of stop, run");
    }

    static class Program {
        public static void main(String[] args) {
            System.out.println("the program runs");
        }
    }

    private static List<String> refused(String options, String... mends) {
        return Refusal.of(Vm.with(options).noFiles(), mends);
    }
}
