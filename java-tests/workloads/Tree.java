import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.CRC32;

/**
 * A folder of sources that a compiler reads, or of classes that it wrote. It must never alter one.
 */
final class Tree {
    private final Path root;

    Tree(Path root) {
        this.root = root;
    }

    /** The source files for a compiler. */
    List<String> sources() throws IOException {
        List<String> sources = files(".java").stream().map(Path::toString)
            .filter(file -> !file.endsWith("-info.java")).collect(Collectors.toList());
        if (sources.isEmpty()) {
            throw new IOException("there are no Java sources in " + root);
        }
        return sources;
    }

    /** Describes the class files; equal classes give equal text. */
    String classes() throws IOException {
        CRC32 sum = new CRC32();
        List<Path> files = files(".class");
        for (Path file : files) {
            sum.update(file.getFileName().toString().getBytes());
            sum.update(Files.readAllBytes(file));
        }
        return files.size() + " classes with checksum " + Long.toHexString(sum.getValue());
    }

    private List<Path> files(String ending) throws IOException {
        try (Stream<Path> all = Files.walk(root)) {
            return all.filter(file -> file.toString().endsWith(ending)).sorted().collect(Collectors.toList());
        }
    }
}
