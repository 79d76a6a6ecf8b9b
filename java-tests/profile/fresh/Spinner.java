package fresh;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.lang.ref.WeakReference;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * A program that loads a class with a new loader, runs it for a millisecond and forgets it, over
 * and over. It writes to the file `classes` when each class ran, and prints how many were unloaded
 * before the last one ran.
 */
public class Spinner {
    public static final long CLASS_MS = 1;
    private static final int ROUND = 50;

    public static void main(String[] args) throws Exception {
        int count = Integer.parseInt(args[0]);
        byte[] pattern = pattern();
        List<WeakReference<ClassLoader>> loaders = new ArrayList<>();
        try (PrintWriter classes = new PrintWriter("classes")) {
            for (int number = 1; number <= count; number++) {
                if (number % ROUND == 0) {
                    System.gc();
                }
                if (number == count) {
                    System.out.println("collected=" + loaders.stream().filter(loader -> loader.get() == null).count());
                }
                String digits = String.format("%05d", number);
                long before = System.nanoTime();
                loaders.add(new WeakReference<>(runOne(digits, pattern)));
                classes.println(digits + " " + before + " " + System.nanoTime());
            }
        }
    }

    private static ClassLoader runOne(String digits, byte[] pattern) throws ReflectiveOperationException {
        OneClass loader = new OneClass();
        ((Runnable) loader.define(named(digits, pattern)).getDeclaredConstructor().newInstance()).run();
        return loader;
    }

    private static byte[] named(String digits, byte[] pattern) {
        // The digits occur only in names, and keep their length, so the class file stays valid.
        String text = new String(pattern, StandardCharsets.ISO_8859_1).replace("00000", digits);
        return text.getBytes(StandardCharsets.ISO_8859_1);
    }

    private static byte[] pattern() throws IOException {
        try (InputStream in = Spinner.class.getResourceAsStream("Fresh00000.class")) {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            for (int next = in.read(); next >= 0; next = in.read()) {
                out.write(next);
            }
            return out.toByteArray();
        }
    }

    private static class OneClass extends ClassLoader {
        OneClass() {
            super(Spinner.class.getClassLoader());
        }

        Class<?> define(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }
    }
}
