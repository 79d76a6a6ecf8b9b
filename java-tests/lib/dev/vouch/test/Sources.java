package dev.vouch.test;

import java.time.Duration;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

/**
 * Finds a large amount of Java source: the JDK's java.xml, some 1,500 files. It also has javac's
 * arguments to compile it.
 */
public final class Sources {
    private static final String JAVAC = "com.sun.tools.javac.Main";
    /** A compilation that takes longer hangs, even on a slow machine. */
    private static final Duration MOST = Duration.ofSeconds(400);

    private Sources() {}

    /**
     * The sources that `scripts/jdks --sources` fetched, or those of the JDK itself; null if
     * neither exists.
     */
    public static Path find() throws IOException {
        Path fetched = Paths.get(System.getProperty("test.root"), "..", "jdks", "sources", "" + Vm.major(), "java.xml");
        if (Files.isDirectory(fetched)) {
            return fetched.toRealPath();
        }
        File archive = Vm.jdk().resolve("lib/src.zip").toFile();
        if (!archive.canRead() || Vm.major() == 8) {
            return null;
        }
        Path unpacked = Paths.get("java.xml").toAbsolutePath();
        if (!Files.isDirectory(unpacked)) {
            unpack(archive, unpacked);
        }
        return unpacked;
    }

    /** The files below a folder that javac compiles. */
    public static List<String> files(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            return files.map(Path::toString)
                .filter(file -> file.endsWith(".java") && !file.endsWith("-info.java"))
                .sorted().collect(Collectors.toList());
        }
    }

    /**
     * javac's arguments for these files. It writes their names to `list`; the classes go to the
     * folder `output`.
     */
    public static List<String> javacArguments(Path sources, List<String> files, Path list, Path output) throws IOException {
        Files.write(list, files, StandardCharsets.UTF_8);
        Files.createDirectories(output);
        List<String> arguments = new ArrayList<>();
        if (Vm.major() == 8) {
            Collections.addAll(arguments, "-XDignore.symbol.file", "-encoding", "UTF-8");
        } else {
            Collections.addAll(arguments, "--patch-module", "java.xml=" + sources);
        }
        Collections.addAll(arguments, "-nowarn", "-proc:none", "-implicit:none", "-d", output.toString(), "@" + list);
        return arguments;
    }

    private static void unpack(File archive, Path to) throws IOException {
        try (ZipFile zip = new ZipFile(archive)) {
            for (ZipEntry entry : Collections.list(zip.entries())) {
                if (entry.getName().startsWith("java.xml/") && entry.getName().endsWith(".java")) {
                    Path file = to.resolve(entry.getName().substring("java.xml/".length()));
                    Files.createDirectories(file.getParent());
                    try (InputStream in = zip.getInputStream(entry)) {
                        Files.copy(in, file);
                    }
                }
            }
        }
    }

    /** Runs javac in this JVM, as a user would profile it. */
    public static Run compile(Vm vm, List<String> arguments) {
        List<String> command = new ArrayList<>();
        if (Vm.major() == 8) {
            Collections.addAll(command, "-cp", Vm.jdk().resolve("lib/tools.jar").toString(), JAVAC);
        } else {
            Collections.addAll(command, "-m", "jdk.compiler/" + JAVAC);
        }
        command.addAll(arguments);
        return vm.flags("-Xmx1g").timeout(MOST).runCommand(command.toArray(new String[0]));
    }
}
