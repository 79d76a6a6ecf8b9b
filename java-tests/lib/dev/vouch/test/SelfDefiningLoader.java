package dev.vouch.test;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;

/**
 * A class loader that defines one class itself, although its parent has it, too. All other classes
 * come from the parent. The class can be redefined or unloaded without harm to the test.
 */
public final class SelfDefiningLoader extends ClassLoader {
    private static final byte BIPUSH = 0x10;

    private final String own;

    public SelfDefiningLoader(Class<?> type) {
        super(type.getClassLoader());
        own = type.getName();
    }

    /** Loads a new copy of the class. */
    public Class<?> load() {
        try {
            return loadClass(own);
        } catch (ClassNotFoundException error) {
            throw new AssertionError(own, error);
        }
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        Class<?> present = findLoadedClass(name);
        if (present != null || !name.equals(own)) {
            return present != null ? present : super.loadClass(name, resolve);
        }
        byte[] code = bytecode(getParent(), name);
        return defineClass(name, code, 0, code.length);
    }

    /** The class file of one of the test's classes. */
    public static byte[] bytecode(Class<?> type) {
        return bytecode(type.getClassLoader(), type.getName());
    }

    /**
     * Changes each `bipush FROM` in a class file to `bipush TO`, which gives another version of the
     * class. Returns how many it changed.
     */
    public static int renumber(byte[] file, int from, int to) {
        int found = 0;
        for (int i = 0; i + 1 < file.length; i++) {
            if (file[i] == BIPUSH && file[i + 1] == from) {
                file[i + 1] = (byte) to;
                found++;
            }
        }
        return found;
    }

    private static byte[] bytecode(ClassLoader loader, String name) {
        try (InputStream in = loader.getResourceAsStream(name.replace('.', '/') + ".class")) {
            ByteArrayOutputStream all = new ByteArrayOutputStream();
            for (int next = in.read(); next >= 0; next = in.read()) {
                all.write(next);
            }
            return all.toByteArray();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}
