/*
 * Without options the profile is in the working folder, with the process id in its name. Otherwise
 * the patterns name it. A user who starts ten JVMs in one script must get ten profiles. This holds
 * for -agentpath, -agentlib and the environment.
 *
 * @test
 * @summary default file names, patterns in names, and the ways to load the agent at start
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main FileNames
 */

import java.nio.file.Path;
import java.util.Arrays;
import java.util.TreeSet;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Profile;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Vm;

public class FileNames {
    public static void main(String[] args) {
        byDefault(Vm.with("").noFiles());
        byDefault(Vm.without().flags("-agentlib:vouch").env("LD_LIBRARY_PATH", Vm.agent().getParent().toString()));
        byDefault(Vm.without().env("JAVA_TOOL_OPTIONS", "-agentpath:" + Vm.agent()));
        patterns();
        inherited();
        quiet();
    }

    private static void byDefault(Vm vm) {
        Run run = vm.run(Program.class).ok();
        String name = "vouch-" + run.value("pid") + ".json.gz";
        Check.equal("[" + name + "]", run.files().toString(), "files without any option");
        Check.contains(run.vouchLines().toString(), name, "what the summary says was written");
        profiled(run, name);
    }

    private static void patterns() {
        Run run = Vm.with("out=a-%p-%%-%{VOUCH_TEST}.json,out=b-%t.folded,report=c-%p.json").noFiles()
            .env("VOUCH_TEST", "from the environment").run(Program.class).ok();
        String pid = run.value("pid");
        TreeSet<String> files = run.files();
        Check.equal(3, files.size(), "files, of " + files);
        profiled(run, "a-" + pid + "-%-from the environment.json");
        Check.that(files.first().startsWith("a-"), "files: " + files);
        Check.that(files.higher(files.first()).matches("b-\\d{8}-\\d{6}\\.folded"), "%t is no time: " + files);
        Check.atLeast(1, Report.read(run.dir.resolve("c-" + pid + ".json")).signals(), "signals");
    }

    /** All JVMs of a script share one name, but each must have separate files. */
    private static void inherited() {
        Run run = Vm.without().env("JAVA_TOOL_OPTIONS", "-Dx=y -agentpath:" + Vm.agent() + "=out=a.b.json.gz,report=c.json").run(Parent.class).ok();
        Check.equal(new TreeSet<>(Arrays.asList("a.b-" + run.value("pid") + ".json.gz", "a.b-" + run.value("parent") + ".json.gz",
            "c-" + run.value("pid") + ".json", "c-" + run.value("parent") + ".json")), run.files(), "files of two JVMs");
        profiled(run, "a.b-" + run.value("pid") + ".json.gz");
    }

    private static void quiet() {
        Run run = Vm.with("quiet").run(Program.class).ok();
        Check.empty(run.err, "what is said under quiet");
        profiled(run, "profile.json");
    }

    private static void profiled(Run run, String name) {
        Path file = run.dir.resolve(name);
        Check.atLeast(50, Profile.read(file).track("main").weightOf("FileNames$Program.main"), "weight of main in " + file);
    }

    /** Starts another JVM with the same environment. */
    static class Parent {
        public static void main(String[] args) throws Exception {
            System.out.println("parent=" + Running.ownPid());
            Process child = new ProcessBuilder(Vm.jdk().resolve("bin/java").toString(), "-Xmx64m", "-cp", System.getProperty("java.class.path"),
                Program.class.getName()).inheritIO().start();
            Check.equal(0, child.waitFor(), "exit code of the child");
        }
    }

    static class Program {
        public static void main(String[] args) throws Exception {
            System.out.println("pid=" + Running.ownPid());
            Burn.millis(100);
        }
    }
}
