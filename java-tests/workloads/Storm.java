import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.ByteBuffer;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;

/**
 * Disturbs another program (-javaagent): ten times a second it redefines a class with a method on
 * some thread's stack. Then activations of obsolete methods continue, compiled code that depends on
 * them is discarded, and its callers are deoptimised.
 *
 * Each redefinition changes the operand stack of every method by one word. That makes all methods
 * obsolete and changes nothing that the program does. At the end it prints how many redefinitions
 * there were. It must never touch a class that the JVM cannot redefine.
 */
public final class Storm implements ClassFileTransformer {
    private static final long EVERY_MS = 100;
    /**
     * Classes that a JDK may need while it calls a transformer. If they were loaded only then,
     * loading would recurse without end (ClassCircularityError).
     */
    private static final String[] ASKED = {
        "java.lang.Module$ReflectionData", "java.lang.WeakPairMap", "java.lang.WeakPairMap$Pair", "java.lang.WeakPairMap$Pair$Weak",
        "java.lang.WeakPairMap$Pair$Lookup",
    };

    private final Instrumentation jvm;
    private final Random random = new Random(1);
    private final Set<String> ours = new HashSet<>(Arrays.asList("Storm", "java.lang.Thread"));
    private final Set<Class<?>> redefined = new HashSet<>();
    private Class<?> wanted;
    private int times;

    private Storm(Instrumentation jvm) {
        this.jvm = jvm;
    }

    public static void premain(String arguments, Instrumentation jvm) {
        for (String name : ASKED) {
            try {
                Class.forName(name);
            } catch (ClassNotFoundException older) {
                // This JDK does not have the class.
            }
        }
        Storm storm = new Storm(jvm);
        jvm.addTransformer(storm, true);
        Thread thread = new Thread(storm::blow, "storm");
        thread.setDaemon(true);
        thread.start();
        Runtime.getRuntime().addShutdownHook(new Thread(storm::told));
    }

    private void blow() {
        try {
            while (true) {
                Thread.sleep(EVERY_MS);
                redefineOne();
            }
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }

    private synchronized void told() {
        System.err.printf("storm: %d redefinitions of %d classes%n", times, redefined.size());
    }

    private synchronized void redefineOne() {
        List<String> onStacks = new ArrayList<>();
        for (Map.Entry<Thread, StackTraceElement[]> each : Thread.getAllStackTraces().entrySet()) {
            if (each.getKey() != Thread.currentThread()) {
                for (StackTraceElement frame : each.getValue()) {
                    // JDK 8 redefines a class without a proper name (a lambda's), but then cannot
                    // link it.
                    if (frame.getClassName().indexOf('/') < 0) {
                        onStacks.add(frame.getClassName());
                    }
                }
            }
        }
        if (onStacks.isEmpty()) {
            return;
        }
        String name = onStacks.get(random.nextInt(onStacks.size()));
        for (Class<?> loaded : jvm.getAllLoadedClasses()) {
            if (loaded.getName().equals(name) && !ours.contains(name) && jvm.isModifiableClass(loaded)) {
                try {
                    wanted = loaded;
                    jvm.retransformClasses(loaded);
                    times++;
                    redefined.add(loaded);
                } catch (Exception | LinkageError refused) {
                    ours.add(name);
                }
                return;
            }
        }
    }

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> changed, ProtectionDomain domain, byte[] file) {
        return changed != null && changed == wanted ? otherStacks(file, 1 + times % 2) : null;
    }

    /** Returns the same class, with this many more words of operand stack in each method. */
    private static byte[] otherStacks(byte[] file, int more) {
        byte[] changed = file.clone();
        ByteBuffer at = ByteBuffer.wrap(changed);
        at.position(8);
        boolean[] code = new boolean[at.getShort() & 0xffff];
        for (int i = 1; i < code.length; i++) {
            int tag = at.get();
            if (tag == 1) {
                byte[] text = new byte[at.getShort() & 0xffff];
                at.get(text);
                code[i] = Arrays.equals(text, new byte[] {'C', 'o', 'd', 'e'});
            } else {
                skip(at, tag == 5 || tag == 6 ? 8 : tag == 15 ? 3 : tag == 7 || tag == 8 || tag == 16 || tag >= 19 ? 2 : 4);
                i += tag == 5 || tag == 6 ? 1 : 0; // these take two places
            }
        }
        skip(at, 6);
        skip(at, 2 * (at.getShort() & 0xffff));
        for (int members = 0; members < 2; members++) {
            for (int left = at.getShort() & 0xffff; left > 0; left--) {
                skip(at, 6);
                for (int attributes = at.getShort() & 0xffff; attributes > 0; attributes--) {
                    boolean isCode = code[at.getShort() & 0xffff];
                    int length = at.getInt();
                    if (isCode) {
                        int stack = at.getShort(at.position()) & 0xffff;
                        at.putShort(at.position(), (short) Math.min(stack + more, 0xffff));
                    }
                    skip(at, length);
                }
            }
        }
        return changed;
    }

    private static void skip(ByteBuffer at, int bytes) {
        at.position(at.position() + bytes);
    }
}
