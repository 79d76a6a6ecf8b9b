/*
 * The disk is full when the profile is written. The program must end with its own exit code and
 * output. A file that does not fit is written to another folder, and a message says where and why.
 * No partial file remains, since a user might trust it. A file that still fits is written where it
 * was requested.
 *
 * The disk is a small tmpfs in the child's own mount namespace, which vanishes with it.
 *
 * @test
 * @summary a full disk costs neither the profile nor the program
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main FullDisk
 */

import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import dev.vouch.test.AwaitRecording;
import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Profile;
import dev.vouch.test.Report;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Skip;
import dev.vouch.test.Tool;
import dev.vouch.test.Vm;

public class FullDisk {
    private static final int CODE = 7;
    /** Enough space for a report and the beginning of a profile. */
    private static final int LITTLE = 32 << 10;

    public static void main(String[] args) throws Exception {
        String[] namespace = namespace();
        nothingFits(namespace);
        nothingFitsAnywhere(namespace);
        onlyTheBeginningOfTheRecordingFits(namespace);
        onlyTheReportFits(namespace);
        freed(namespace);
    }

    private static final String[] FILES = {"p.json", "p.json.gz", "r.json"};

    private static void nothingFits(String[] namespace) throws Exception {
        Path disk = Files.createDirectory(Paths.get("none").toAbsolutePath());
        Run run = run(on(namespace, disk, three(disk)), disk, 0);
        String said = String.join("\n", run.vouchLines());
        for (String file : FILES) {
            Path elsewhere = moved(said, disk + "/" + file, run.dir);
            if (file.startsWith("p")) {
                Profile.read(elsewhere).track("main").weightOf("FullDisk$Program.deep");
            } else {
                Check.atLeast(50, Report.read(elsewhere).signals(), "signals in the report");
            }
        }
        Check.that(!said.contains("lost:") && !said.contains("vouch recover"), "nothing is lost, but the message says so: " + said);
        // The recording was deleted, since its data is in the profile and its space is needed.
        Check.equal("[filler]", left(run), "files on the full disk");
        Check.that(said.indexOf("p.vouch cannot be written") < said.indexOf(disk + "/p.json could not be written"), "order of the lines: " + said);
        Check.that(!said.contains("complete all the same"), "a promise that is not kept: " + said);
    }

    private static void nothingFitsAnywhere(String[] namespace) throws Exception {
        Path disk = Files.createDirectory(Paths.get("nowhere").toAbsolutePath());
        Run run = run(on(namespace, disk, three(disk)).env("TMPDIR", disk.toString()), disk, 0, "cd $disk && ");
        String said = String.join("\n", run.vouchLines());
        for (String file : FILES) {
            Check.contains(said, "lost: " + disk + "/" + file + " could not be written: No space left on device", "message");
        }
        Check.that(!said.contains("wrote"), "nothing was written, but the message says so: " + said);
        // The recording up to the full disk remains, and `vouch recover` can read it where there is
        // space.
        Check.equal("[filler, p.vouch]", left(run), "files on the full disk");
        Check.contains(said, disk + "/p.vouch has the recording, as far as it could be written: `vouch recover ", "message");
        Check.that(said.indexOf("lost: ") < said.indexOf("vouch recover"), "order of the lines: " + said);
        Tool.vouch(run.dir, "recover", "left/p.vouch", "--out", "p.json", "--report", "r.json").ok();
        Check.atLeast(50, Report.read(run.dir.resolve("r.json")).signals(), "signals in what was recovered");
    }

    /** The disk is full before the recording begins: a file of 0 bytes is no recording. */
    private static void onlyTheBeginningOfTheRecordingFits(String[] namespace) throws Exception {
        Path disk = Files.createDirectory(Paths.get("empty").toAbsolutePath());
        Vm vm = on(namespace, disk, three(disk)).env("TMPDIR", disk.toString());
        Run run = run(vm, disk, 0, "head -c 2m /dev/zero >$disk/early 2>/dev/null; cd $disk && ");
        String said = String.join("\n", run.vouchLines());
        Check.contains(said, "lost: " + disk + "/p.json could not be written", "message");
        Check.that(!said.contains("vouch recover"), "there is nothing to recover: " + said);
        Check.equal("[early, filler]", left(run), "files on the full disk");
    }

    private static String three(Path disk) {
        return "out=" + disk + "/p.json,out=" + disk + "/p.json.gz,report=" + disk + "/r.json";
    }

    /**
     * Returns where the file was written instead. Asserts that the message names this path and the
     * reason.
     */
    private static Path moved(String said, String requested, Path folder) {
        String begin = requested.replace(".", "\\.") + " could not be written: No space left on device \\(os error 28\\); it was written to ";
        Matcher line = Pattern.compile(begin + "(\\S+) instead").matcher(said);
        Check.that(line.find(), "what is said of " + requested + ": " + said);
        Path elsewhere = Paths.get(line.group(1));
        Check.equal(folder, elsewhere.getParent(), "folder of the file");
        return elsewhere;
    }

    private static void onlyTheReportFits(String[] namespace) throws IOException {
        Path disk = Files.createDirectory(Paths.get("little").toAbsolutePath());
        Vm vm = on(namespace, disk, "out=" + disk + "/p.json,recording=off,report=" + disk + "/r.json");
        Run run = run(vm, disk, LITTLE);
        String said = String.join("\n", run.vouchLines());
        moved(said, disk + "/p.json", run.dir);
        Check.that(!said.contains(disk + "/r.json could"), "the report had room, but the message says: " + said);
        Check.equal("[filler, r.json]", left(run), "files on the full disk");
        Check.atLeast(50, Report.read(run.dir.resolve("left/r.json")).signals(), "signals in the report that fitted");
    }

    /**
     * Space becomes free again while the program runs, which is then killed. The recording must
     * contain all that ran after that.
     */
    private static void freed(String[] namespace) throws Exception {
        Path disk = Files.createDirectory(Paths.get("freed").toAbsolutePath());
        Run run = on(namespace, disk, "out=" + disk + "/p.json").run(Freed.class, disk.toString());
        Check.equal("[full, room again]", run.out.toString(), "the program's output");
        Check.equal(137, run.exit, "exit code of a program that kills itself");
        String said = run.vouchLines().toString();
        Check.that(said.matches(".*p\\.vouch cannot be written: No space left.*p\\.vouch goes on.*"), "what is said of the recording: " + said);
        Tool.vouch(run.dir, "recover", "left/p.vouch", "--out", "p.json", "--report", "r.json").ok();
        Check.equal(0, Report.read(run.dir.resolve("r.json")).samples("dropped"), "samples that are lost");
        Profile.read(run.dir.resolve("p.json")).track("main").checkRan("FullDisk$Freed.whileFull", Freed.MILLIS);
    }

    /**
     * Runs the program on a separate tmpfs. The tmpfs vanishes with its namespace, so the shell
     * copies the files out.
     */
    private static Vm on(String[] namespace, Path disk, String options) {
        String script = "disk=$1; dir=$PWD; shift; mount -t tmpfs -o size=1m vouch-test $disk || exit 99\n"
            + "(eval \"$BEFORE\" true && exec \"$@\"); code=$?; cp -a $disk $dir/left; exit $code";
        List<String> launcher = new ArrayList<>(Arrays.asList(namespace));
        launcher.addAll(Arrays.asList("sh", "-c", script, "sh", disk.toString()));
        return Vm.with(options + ",interval=1ms").noFiles().launcher(launcher.toArray(new String[0]));
    }

    private static Run run(Vm vm, Path disk, int room) {
        return run(vm, disk, room, "");
    }

    /** Runs the program; `before` is what the shell does first. */
    private static Run run(Vm vm, Path disk, int room, String before) {
        Run run = vm.env("BEFORE", before).run(Program.class, disk.toString(), Integer.toString(room));
        Check.equal("[burnt, full]", run.out.toString(), "the program's output");
        Check.equal(CODE, run.exit, "exit code");
        Check.empty(run.otherErr(), "lines on stderr that are not Vouch's");
        return run;
    }

    private static String left(Run run) {
        return Run.files(run.dir.resolve("left")).toString();
    }

    /** How a process gets a mount namespace here: as root, or as the root of a user namespace. */
    private static String[] namespace() throws Exception {
        String[][] ways = {{"unshare", "-m"}, {"unshare", "-r", "-m"}};
        for (String[] way : ways) {
            List<String> command = new ArrayList<>(Arrays.asList(way));
            command.addAll(Arrays.asList("mount", "-t", "tmpfs", "vouch-test", "/tmp"));
            try {
                if (new ProcessBuilder(command).start().waitFor() == 0) {
                    return way;
                }
            } catch (IOException none) {
                Skip.unless(false, "there is no unshare: " + none.getMessage());
            }
        }
        Skip.unless(false, "a tmpfs may not be mounted here, as root or in a user namespace");
        return null;
    }

    static class Program {
        public static void main(String[] args) throws IOException {
            Burn.millis(100);
            deep(200);
            System.out.println("burnt");
            Path filler = Paths.get(args[0], "filler");
            fill(filler);
            long size = Files.size(filler) - Integer.parseInt(args[1]);
            try (FileChannel channel = FileChannel.open(filler, StandardOpenOption.WRITE)) {
                channel.truncate(size);
            }
            System.out.println("full");
            System.exit(CODE);
        }

        static void fill(Path filler) {
            try (FileOutputStream out = new FileOutputStream(filler.toFile())) {
                byte[] page = new byte[4096];
                for (int written = 0; written <= 1 << 20; written += page.length) {
                    out.write(page);
                }
                System.out.println("the disk is not full");
            } catch (IOException full) {
                // The disk is full, as intended.
            }
        }

        /** Burns at many depths, so that the profile is larger than a page or two. */
        private static void deep(int left) {
            Burn.millis(1);
            if (left > 0) {
                deep(left - 1);
            }
        }
    }

    static class Freed {
        static final int MILLIS = 500;

        public static void main(String[] args) throws Exception {
            Path filler = Paths.get(args[0], "filler");
            Path recording = Paths.get(args[0], "p.vouch");
            Burn.millis(300);
            Program.fill(filler);
            long full = Files.size(recording);
            whileFull();
            // The rest of the file's last page may still have been filled.
            System.out.println(Files.size(recording) - full <= 4096 ? "full" : "there was room all the while");
            Files.delete(filler);
            AwaitRecording.burnUntilAllIs(recording);
            System.out.println("room again");
            new ProcessBuilder("kill", "-9", Running.ownPid()).start().waitFor();
        }

        private static void whileFull() {
            Burn.millis(MILLIS);
        }
    }
}
