/*
 * An output that cannot be written is reported before the program starts, not after an hour of
 * work. The cases are a missing folder, a read-only one, a folder at the file's path, and one file
 * for two outputs. The attempt must not damage existing files.
 *
 * @test
 * @key newest
 * @summary outputs that cannot be written stop the JVM before main, with exit code 1
 * @library /lib
 * @build dev.vouch.test.*
 * @run main UnwritableOutputs
 */

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Collections;
import java.util.stream.Stream;

import dev.vouch.test.Check;
import dev.vouch.test.Refusal;
import dev.vouch.test.Vm;

public class UnwritableOutputs {
    public static void main(String[] args) throws IOException {
        Path place = Files.createDirectory(Paths.get("place").toAbsolutePath());
        Path folder = Files.createDirectory(place.resolve("folder.json"));
        Path missing = place.resolve("missing");
        refused("out=" + missing + "/p.json", "the folder of " + missing + "/p.json does not exist", "create it");
        refused("report=" + missing + "/r.json", "the folder of " + missing + "/r.json does not exist", "create it");
        refused("out=/proc/p.json", "/proc/p.json", "cannot be written", "choose another folder");
        refused("out=" + folder, folder + " is a folder");
        refused("out=" + missing + "/p.json.gz,out=" + folder + ",report=/proc/r.json",
            missing + "/p.json.gz does not exist", "is a folder", "/proc/r.json");

        // One file for two outputs, in different spellings.
        Path file = place.resolve("p.json");
        refused("out=" + file + ",report=" + file, file + " is named twice");
        refused("out=" + file + ",out=" + place + "/./p.json", "is named twice");
        refused("out=" + file + ",report=" + folder + "/../p.json", "is named twice");
        refused("out=p.json,report=./p.json", "is named twice");
        Path link = Files.createSymbolicLink(Paths.get("link").toAbsolutePath(), place);
        refused("out=" + file + ",report=" + link + "/p.json", "is named twice");

        // An older profile survives the attempt.
        Files.write(file, Collections.singletonList("yesterday's"), StandardCharsets.UTF_8);
        refused("out=" + file + ",report=/proc/r.json", "/proc/r.json");
        Check.equal("[yesterday's]", Files.readAllLines(file, StandardCharsets.UTF_8).toString(), "the file that was there");
        try (Stream<Path> left = Files.list(place)) {
            Check.equal(2, left.count(), "files in the folder: the one of yesterday, and the folder");
        }
    }

    private static void refused(String options, String... parts) {
        Refusal.of(Vm.with(options).noFiles(), parts);
    }
}
