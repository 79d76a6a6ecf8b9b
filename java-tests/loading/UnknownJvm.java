/*
 * A JVM lacks AsyncGetCallTrace, as one other than HotSpot would. It prints one clear message, and
 * the program runs on without a profile, with its own output and exit code. No file remains that
 * could be mistaken for a profile.
 *
 * This JVM is a copy of the one under test. In its libjvm.so one letter of the function's name is
 * changed.
 *
 * @test
 * @summary a JVM that cannot be profiled runs its program all the same
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main UnknownJvm
 */

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.stream.Stream;

import dev.vouch.test.Attach;
import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Running;
import dev.vouch.test.Vm;

public class UnknownJvm {
    private static final String NAME = "AsyncGetCallTrace";

    public static void main(String[] args) throws IOException {
        Path home = patched();

        Run run = Vm.with("interval=1ms").home(home).run(Program.class, "end");
        Check.equal(8, run.exit, "exit code");
        Check.equal("[the program's own]", run.out.toString(), "the program's output");
        Check.equal(1, run.err.size(), "lines on stderr: " + run.err);
        oneSentence(run.err.get(0));
        Check.empty(run.files(), "files that are left");

        try (Running running = Vm.without().home(home).start(Program.class, "wait")) {
            running.awaitOut("the program's own");
            try (Attach attach = Attach.to(running)) {
                attach.mustNot("out=profile.json");
            }
            oneSentence(running.awaitErr("[vouch]"));
            running.stdin().println("end");
            Run late = running.waitFor();
            Check.equal(8, late.exit, "exit code");
            Check.that(!Files.exists(late.dir.resolve("profile.json")), "there is a profile");
        }
    }

    private static void oneSentence(String line) {
        Check.that(line.startsWith("[vouch] this JVM ("), "the sentence: " + line);
        Check.contains(line, "has no " + NAME + ", so the program runs unprofiled", "the sentence");
        Check.contains(line, "libjvm.so", "the sentence, which names the library");
    }

    /**
     * A JDK home of links, except for the changed library and the file by which the launcher finds
     * its home. Folders are created and only files are linked. Through a linked folder, jtreg would
     * move or delete the JDK's own files when it clears a test's folder.
     */
    private static Path patched() throws IOException {
        Path jdk = Vm.jdk().toRealPath();
        Path home = Paths.get("jdk").toAbsolutePath();
        Path library;
        try (Stream<Path> files = Files.walk(jdk)) {
            library = files.filter(file -> file.endsWith("server/libjvm.so")).findFirst().get();
        }
        Path java = jdk.resolve("bin/java").toRealPath();
        mirror(jdk, home, library, java);
        if (!Files.exists(home.resolve("bin/java"))) {
            // In JDK 8 this is a link into its JRE.
            Files.createSymbolicLink(home.resolve("bin/java"), home.resolve(jdk.relativize(java)));
        }
        byte[] bytes = Files.readAllBytes(library);
        String text = new String(bytes, StandardCharsets.ISO_8859_1);
        String changed = text.replace("\0" + NAME + "\0", "\0" + NAME.replace('A', 'Z') + "\0");
        Check.that(!changed.equals(text), library + " has no symbol " + NAME + " to begin with");
        Files.write(home.resolve(jdk.relativize(library)), changed.getBytes(StandardCharsets.ISO_8859_1));
        return home;
    }

    private static void mirror(Path from, Path to, Path library, Path java) throws IOException {
        Files.createDirectories(to);
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(from)) {
            for (Path entry : entries) {
                Path copy = to.resolve(entry.getFileName());
                if (entry.equals(java)) {
                    Files.copy(entry, copy);
                } else if (Files.isDirectory(entry)) {
                    mirror(entry, copy, library, java);
                } else if (!entry.equals(library) && !entry.endsWith("bin/java")) {
                    Files.createSymbolicLink(copy, entry);
                }
            }
        }
    }

    static class Program {
        public static void main(String[] args) throws IOException {
            System.out.println("the program's own");
            Burn.millis(30);
            if (args[0].equals("wait")) {
                System.in.read();
            }
            System.exit(8);
        }
    }
}
