/*
 * The output folder exists at the start and is gone at the end, as when a build cleans its target
 * folder. The program's exit code must not change. The profile is written to the working folder, or
 * to the temporary folder if that fails too.
 *
 * @test
 * @key newest
 * @summary a folder that vanishes while the program runs costs no profile
 * @library /lib
 * @build dev.vouch.test.*
 * @run main FolderGone
 */

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Profile;
import dev.vouch.test.Run;
import dev.vouch.test.Vm;

public class FolderGone {
    public static void main(String[] args) throws IOException {
        gone("");
        gone(",quiet");
        replaced();
        nowhere();
    }

    private static void gone(String more) throws IOException {
        Path folder = Files.createTempDirectory(Paths.get("").toAbsolutePath(), "target");
        Run run = Vm.with("out=" + folder + "/gone.json.gz" + more).run(Program.class, folder.toString(), "delete");
        Check.equal(9, run.exit, "exit code");
        Path elsewhere = moved(run, folder + "/gone.json.gz", run.dir);
        Check.that(elsewhere.getFileName().toString().matches("gone-[0-9]+-[0-9]{8}-[0-9]{6}\\.json\\.gz"), "name of the file: " + elsewhere);
        Check.that(!Files.exists(folder), "the folder is back");
        Check.equal("[" + elsewhere.getFileName() + ", profile.json, report.json]", run.files().toString(), "files");
        for (Profile profile : new Profile[] {run.profile(), Profile.read(elsewhere)}) {
            Check.atLeast(30, profile.track("main").weightOf("FolderGone$Program.main"), "weight of main");
        }
        offersNothing(run);
    }

    /** A folder occupies the path of the profile. */
    private static void replaced() throws IOException {
        Path folder = Files.createTempDirectory(Paths.get("").toAbsolutePath(), "target");
        Path file = folder.resolve("replaced.json");
        Run run = Vm.with("out=" + file).run(Program.class, file.toString(), "create");
        Check.equal(9, run.exit, "exit code");
        Path elsewhere = moved(run, file.toString(), run.dir);
        Check.equal("[replaced.json]", Run.files(folder).toString(), "what is left: the folder in the file's place, and no part of a file");
        Check.atLeast(30, Profile.read(elsewhere).track("main").weightOf("FolderGone$Program.main"), "weight of main");
    }

    /** No folder accepts the file, and its recording is gone too. */
    private static void nowhere() throws IOException {
        Path folder = Files.createTempDirectory(Paths.get("").toAbsolutePath(), "target");
        String script = "cd /proc && exec \"$@\"";
        Run run = Vm.with("out=" + folder + "/gone.json").noFiles().env("TMPDIR", "/proc").launcher("sh", "-c", script, "sh")
            .run(Program.class, folder.toString(), "delete");
        Check.equal(9, run.exit, "exit code");
        String said = String.join("\n", run.vouchLines());
        Check.contains(said, "lost: " + folder + "/gone.json could not be written: No such file or directory", "message");
        Check.contains(said, "(os error 2); it could not be written to /proc either", "message");
        Check.that(!said.contains("wrote"), "nothing was written, but the message says so: " + said);
        offersNothing(run);
    }

    /**
     * Returns where the file was written instead. Asserts that the message names this path and the
     * reason.
     */
    private static Path moved(Run run, String requested, Path folder) {
        String said = String.join("\n", run.vouchLines());
        String begin = requested.replace(".", "\\.") + " could not be written: [A-Z][a-z ]+ \\(os error [0-9]+\\); it was written to ";
        Matcher line = Pattern.compile(begin + "(\\S+) instead").matcher(said);
        Check.that(line.find(), "what is said of the file: " + said);
        Path elsewhere = Paths.get(line.group(1));
        Check.equal(folder, elsewhere.getParent(), "folder of the file");
        Check.that(!said.contains("lost: "), "nothing is lost, but the message says so: " + said);
        return elsewhere;
    }

    /** The message must not offer `vouch recover`, since there is nothing to recover. */
    private static void offersNothing(Run run) {
        Check.that(!run.vouchLines().toString().contains("vouch recover"), "there is nothing to recover: " + run.vouchLines());
    }

    static class Program {
        public static void main(String[] args) throws IOException {
            Burn.millis(60);
            Path path = Paths.get(args[0]);
            if (args[1].equals("delete")) {
                try (DirectoryStream<Path> files = Files.newDirectoryStream(path)) {
                    for (Path file : files) {
                        Files.delete(file);
                    }
                }
                Files.delete(path);
            } else {
                Files.createDirectory(path);
            }
            System.exit(9);
        }
    }
}
