/*
 * Two runs may differ only in the JVM's options, and these have many sources. The report must list
 * all options, from every source, once each.
 *
 * @test
 * @summary the report has the JVM's options from the command line, files and the environment
 * @library /lib
 * @build dev.vouch.test.*
 * @run main JvmOptions
 */

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Vm;

public class JvmOptions {
    public static void main(String[] args) throws IOException {
        Vm vm = Vm.with("").flags("-Dgiven=in the command line", "-XX:Flags=" + file("flags", "+UseCodeCacheFlushing"))
            .env("JAVA_TOOL_OPTIONS", "-Dof.tools=1").env("_JAVA_OPTIONS", "-Dof.java=1");
        List<String> wanted = Arrays.asList("-Dgiven=in the command line", "-Dof.tools=1", "-Dof.java=1", "-XX:+UseCodeCacheFlushing", "-cp", Vm.classPath());
        told(vm, wanted);
        // Newer JDKs have more sources.
        if (Vm.major() >= 9) {
            told(Vm.with("").flags("@" + file("arguments", "-Dof.a.file=1")).env("JDK_JAVA_OPTIONS", "-Dof.jdk=1"), Arrays.asList("-Dof.a.file=1", "-Dof.jdk=1"));
        }
    }

    private static Path file(String name, String line) throws IOException {
        return Files.write(Paths.get(name).toAbsolutePath(), Collections.singletonList(line), StandardCharsets.UTF_8);
    }

    private static void told(Vm vm, List<String> wanted) {
        List<String> told = vm.run(Program.class).ok().report().vmFlags();
        for (String option : wanted) {
            Check.equal(1, Collections.frequency(told, option), option + " in " + told);
        }
    }

    static class Program {
        public static void main(String[] args) {
            Burn.millis(10);
        }
    }
}
