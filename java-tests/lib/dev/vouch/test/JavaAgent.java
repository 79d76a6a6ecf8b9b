package dev.vouch.test;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;

/** Makes a class that is on the class path a Java agent. */
public final class JavaAgent {
    private JavaAgent() {}

    /** The JVM option that calls this class's `premain`, with the right to redefine classes. */
    public static String option(Class<?> premain) {
        return "-javaagent:" + jar(premain);
    }

    /**
     * Makes the agent's jar. Its class has a `premain` for the start, or an `agentmain` for later.
     */
    public static Path jar(Class<?> agent) {
        Path jar = Paths.get(agent.getName() + ".jar").toAbsolutePath();
        Manifest manifest = new Manifest();
        Attributes attributes = manifest.getMainAttributes();
        attributes.put(Attributes.Name.MANIFEST_VERSION, "1.0");
        attributes.putValue("Premain-Class", agent.getName());
        attributes.putValue("Agent-Class", agent.getName());
        attributes.putValue("Can-Redefine-Classes", "true");
        attributes.putValue("Can-Retransform-Classes", "true");
        try (OutputStream out = Files.newOutputStream(jar)) {
            new JarOutputStream(out, manifest).close();
            return jar;
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}
