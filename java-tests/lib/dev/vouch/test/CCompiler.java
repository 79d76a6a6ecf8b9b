package dev.vouch.test;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Builds the C code of a test, a file beside the test's source, in the scratch folder. Without a
 * compiler the test is skipped.
 */
public final class CCompiler {
    private CCompiler() {}

    /** Builds NAME.c as a library with JNI, and returns the .so file. */
    public static Path library(String name) {
        Path library = Paths.get(name + ".so").toAbsolutePath();
        Path include = include();
        build(name, library, "-shared", "-fPIC", "-I" + include, "-I" + include.resolve("linux"));
        return library;
    }

    /** Builds NAME.c as a program with JNI. */
    public static Path host(String name) {
        Path program = Paths.get(name + ".bin").toAbsolutePath();
        Path include = include();
        build(name, program, "-I" + include, "-I" + include.resolve("linux"), "-ldl");
        return program;
    }

    private static Path include() {
        Path include = Vm.jdk().resolve("include");
        Skip.unless(Files.exists(include.resolve("jni.h")), "this JDK has no jni.h");
        return include;
    }

    /** Builds NAME.c as a program. */
    public static Path program(String name) {
        Path program = Paths.get(name + ".bin").toAbsolutePath();
        build(name, program);
        return program;
    }

    private static void build(String name, Path to, String... options) {
        Path source = Paths.get(System.getProperty("test.src", "."), name + ".c");
        List<String> command = new ArrayList<>(Arrays.asList("cc", "-std=gnu11", "-O1", "-Wall", "-Werror", "-pthread"));
        command.addAll(Arrays.asList(options));
        command.addAll(Arrays.asList("-o", to.toString(), source.toString()));
        try {
            Process cc = new ProcessBuilder(command).redirectErrorStream(true).start();
            String said = new BufferedReader(new InputStreamReader(cc.getInputStream(), StandardCharsets.UTF_8))
                .lines().collect(Collectors.joining("\n"));
            Check.equal(0, cc.waitFor(), "exit code of " + command + ":\n" + said + "\n");
        } catch (IOException none) {
            Skip.unless(false, "there is no C compiler: " + none.getMessage());
        } catch (InterruptedException error) {
            throw new AssertionError("interrupted while cc ran", error);
        }
    }
}
