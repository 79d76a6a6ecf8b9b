package dev.vouch.test;

import java.io.File;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;

/**
 * The JDK's attach API, with which a tool loads the agent into a running JVM. It is used by
 * reflection, because JDK 8 keeps it in tools.jar and a JRE lacks it.
 */
public final class Attach implements AutoCloseable {
    private final Class<?> type;
    private final Object vm;

    private Attach(Class<?> type, Object vm) {
        this.type = type;
        this.vm = vm;
    }

    public static Attach to(Running child) {
        try {
            Class<?> type = api();
            return new Attach(type, type.getMethod("attach", String.class).invoke(null, Long.toString(child.pid())));
        } catch (ReflectiveOperationException error) {
            throw new AssertionError("the child cannot be attached to", error);
        }
    }

    /** Loads the agent with these options, and returns the agent's return code. */
    public int load(String options) {
        return load(Vm.agent(), options);
    }

    public int load(Path library, String options) {
        System.out.println("attach: " + options);
        try {
            type.getMethod("loadAgentPath", String.class, String.class).invoke(vm, library.toString(), options);
            return 0;
        } catch (InvocationTargetException thrown) {
            return returnValue(thrown.getCause());
        } catch (ReflectiveOperationException error) {
            throw new AssertionError("the agent cannot be loaded", error);
        }
    }

    /** Fails unless the agent accepts the options. */
    public void must(String options) {
        Check.equal(0, load(options), "return code of the agent for <" + options + ">");
    }

    /** Fails unless the agent refuses the options. */
    public void mustNot(String options) {
        Check.that(load(options) != 0, "the agent took <" + options + ">, which it ought to refuse");
    }

    @Override
    public void close() {
        try {
            type.getMethod("detach").invoke(vm);
        } catch (ReflectiveOperationException ended) {
            // The child has exited, so nothing is left to detach.
        }
    }

    private static int returnValue(Throwable refused) {
        try {
            return (Integer) refused.getClass().getMethod("returnValue").invoke(refused);
        } catch (ReflectiveOperationException other) {
            throw new AssertionError("the agent cannot be loaded", refused);
        }
    }

    private static Class<?> api() throws ReflectiveOperationException {
        String name = "com.sun.tools.attach.VirtualMachine";
        try {
            return Class.forName(name);
        } catch (ClassNotFoundException beforeJdk9) {
            File tools = Vm.jdk().resolve("lib/tools.jar").toFile();
            Skip.unless(tools.exists(), "this JDK has no attach API");
            try {
                return Class.forName(name, true, new URLClassLoader(new URL[] {tools.toURI().toURL()}));
            } catch (java.net.MalformedURLException error) {
                throw new AssertionError(error);
            }
        }
    }
}
