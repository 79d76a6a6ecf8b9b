package dev.vouch.test;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.function.Consumer;

import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;

/**
 * Compiles and runs the program of a page under docs/, as a reader would. A page with a broken
 * program is worse than none.
 */
public final class DocsProgram {
    private DocsProgram() {}

    /**
     * Runs the page's first program, with main class `main`, with the agent. Passes that run to
     * `check`, and then runs the program without the agent.
     */
    public static void run(String page, String main, Consumer<Run> check) throws IOException {
        Skip.unless(Vm.major() >= 16, "records are newer than JDK " + Vm.major());
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        Skip.unless(compiler != null, "this is no JDK but a JRE: it has no compiler");
        Path classes = Files.createDirectories(Paths.get("documented"));
        Path source = classes.resolve(main + ".java");
        Files.write(source, program(page).getBytes(StandardCharsets.UTF_8));
        int compiled = compiler.run(null, null, null, "-cp", Vm.classPath(), "-d", classes.toString(), source.toString());
        Check.equal(0, compiled, "exit code of the compiler");
        String path = classes.toAbsolutePath() + File.pathSeparator + Vm.classPath();
        check.accept(Vm.with("interval=1ms").runCommand("-cp", path, main).ok());
        Vm.without().runCommand("-cp", path, main).ok();
    }

    /** The text of the page's first Java code block. */
    private static String program(String name) throws IOException {
        Path page = Paths.get(System.getProperty("test.root")).resolve("../docs").resolve(name);
        String text = new String(Files.readAllBytes(page), StandardCharsets.UTF_8);
        int begin = text.indexOf("```java\n");
        Check.that(begin >= 0, "no program in " + page);
        begin += "```java\n".length();
        return text.substring(begin, text.indexOf("```", begin));
    }
}
