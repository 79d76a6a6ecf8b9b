/*
 * The folder of the outputs is there at the start, and gone at the end: a build that cleans its
 * target folder does that. The program's exit code stays, the loss is told, and a file elsewhere is
 * written all the same.
 *
 * @test
 * @key newest
 * @summary a folder that vanishes while the program runs costs only the files in it
 * @library /lib
 * @build dev.vouch.test.*
 * @run main FolderGone
 */

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Vm;

public class FolderGone {
    public static void main(String[] args) throws IOException {
        gone("");
        gone(",quiet");
        replaced();
    }

    private static void gone(String more) throws IOException {
        Path folder = Files.createTempDirectory(Paths.get("").toAbsolutePath(), "target");
        Run run = Vm.with("out=" + folder + "/lost.json.gz" + more).run(Program.class, folder.toString(), "delete");
        Check.equal(9, run.exit, "exit code");
        Check.contains(run.vouchLines().toString(), "lost: " + folder + "/lost.json.gz could not be written", "message");
        Check.that(!Files.exists(folder), "the folder is back");
        Check.equal("[profile.json, report.json]", run.files().toString(), "files elsewhere");
        Check.atLeast(30, run.profile().track("main").weightOf("FolderGone$Program.main"), "weight of main");
    }

    /** A folder in the file's place. */
    private static void replaced() throws IOException {
        Path folder = Files.createTempDirectory(Paths.get("").toAbsolutePath(), "target");
        Path file = folder.resolve("lost.json");
        Run run = Vm.with("out=" + file).run(Program.class, file.toString(), "create");
        Check.equal(9, run.exit, "exit code");
        Check.contains(run.vouchLines().toString(), "lost: " + file + " could not be written", "message");
        try (Stream<Path> left = Files.list(folder)) {
            Check.equal("[lost.json, lost.vouch]", left.map(path -> path.getFileName().toString()).sorted().collect(Collectors.toList()).toString(),
                "what is left: the folder in the file's place, what was recorded, and no part of a file");
        }
        Check.equal("[profile.json, report.json]", run.files().toString(), "files elsewhere");
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
