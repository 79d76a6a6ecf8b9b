import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;

/**
 * The JDK's own compiler on the JDK's own java.xml, some 1,500 files a round: deep recursion, many
 * small methods, much garbage. Every round must give the same classes. Arguments: seconds, a folder
 * to write to, the folder of the sources.
 */
public final class Javac {
    private Javac() {}

    public static void main(String[] args) throws IOException {
        JavaCompiler javac = ToolProvider.getSystemJavaCompiler();
        Path output = Files.createDirectories(Paths.get(args[1], "classes"));
        List<String> sources = new Tree(Paths.get(args[2])).sources();
        List<String> command = new ArrayList<>();
        if (System.getProperty("java.specification.version").equals("1.8")) {
            Collections.addAll(command, "-XDignore.symbol.file", "-encoding", "UTF-8");
        } else {
            Collections.addAll(command, "--patch-module", "java.xml=" + args[2]);
        }
        Collections.addAll(command, "-nowarn", "-proc:none", "-d", output.toString());
        command.addAll(sources);
        List<String> first = new ArrayList<>();
        Rounds.run(args[0], "javac on " + sources.size() + " files", () -> {
            ByteArrayOutputStream said = new ByteArrayOutputStream();
            int code = javac.run(null, said, said, command.toArray(new String[0]));
            Rounds.check(code == 0, "javac ended with " + code + ": " + said);
            String classes = new Tree(output).classes();
            if (first.isEmpty()) {
                first.add(classes);
            }
            Rounds.same(first, Arrays.asList(classes), "what the first round and this one compiled");
        });
    }
}
