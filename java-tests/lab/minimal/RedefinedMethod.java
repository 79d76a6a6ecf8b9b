/*
 * A method that was redefined while it runs has no id
 *
 * A class is redefined while one of its methods is on the stack. The frame continues in the old
 * version, which is now obsolete. GetStackTrace creates an id for it. The walk has a null id
 * instead, so that a profiler cannot name the frame. (The program runs itself as a Java agent in a
 * second JVM, because only an agent may redefine classes.)
 *
 * Seen in: Redefined.*
 * Shows: null_method on 8-
 */

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.lang.instrument.ClassDefinition;
import java.lang.instrument.Instrumentation;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;

import dev.vouch.Oracle;

public class RedefinedMethod {
    static class Target {
        static int active(Instrumentation jvm) throws Exception {
            redefine(jvm);
            System.out.println(Oracle.self(100));
            return 77;
        }
    }

    /** Gives Target back as it is, but for the number: `bipush 77` becomes `bipush 78`. */
    static void redefine(Instrumentation jvm) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (InputStream in = RedefinedMethod.class.getResourceAsStream("RedefinedMethod$Target.class")) {
            for (int b = in.read(); b >= 0; b = in.read()) {
                bytes.write(b);
            }
        }
        byte[] changed = bytes.toByteArray();
        for (int at = 0; at < changed.length - 2; at++) {
            if (changed[at] == 0x10 && changed[at + 1] == 77 && changed[at + 2] == (byte) 0xac) {
                changed[at + 1] = 78;
            }
        }
        jvm.redefineClasses(new ClassDefinition(Target.class, changed));
    }

    public static void premain(String none, Instrumentation jvm) throws Exception {
        Target.active(jvm);
        System.exit(0);
    }

    public static void main(String[] args) throws Exception {
        File jar = File.createTempFile("redefined", ".jar");
        jar.deleteOnExit();
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().putValue("Premain-Class", "RedefinedMethod");
        manifest.getMainAttributes().putValue("Can-Redefine-Classes", "true");
        new JarOutputStream(new FileOutputStream(jar), manifest).close();
        List<String> command = new ArrayList<>();
        command.add(System.getProperty("java.home") + "/bin/java");
        command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.add("-javaagent:" + jar);
        command.add("-cp");
        command.add(System.getProperty("java.class.path"));
        command.add("RedefinedMethod");
        System.exit(new ProcessBuilder(command).inheritIO().start().waitFor());
    }
}
