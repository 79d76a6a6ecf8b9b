/*
 * Everything below a foreign-function upcall is missing
 *
 * C code that was called through java.lang.foreign calls back into Java. The frame between the C
 * code and the Java method is the upcall stub's. It contains the pc where the thread last was in
 * Java. The walk does not read it, and ends there.
 *
 * Seen in: Foreign.*
 * Shows: truncated on 22-
 * Run: --enable-native-access=ALL-UNNAMED
 */

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

import dev.vouch.Oracle;

public class ForeignUpcall {
    static boolean asked;

    static int compare(MemorySegment one, MemorySegment other) {
        if (!asked) {
            asked = true;
            System.out.println(Oracle.self(100));
        }
        return 0;
    }

    public static void main(String[] args) throws Throwable {
        Linker linker = Linker.nativeLinker();
        MethodHandle qsort = linker.downcallHandle(linker.defaultLookup().find("qsort").get(), FunctionDescriptor.ofVoid(
            ValueLayout.ADDRESS, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG, ValueLayout.ADDRESS));
        MethodHandle compare = MethodHandles.lookup().findStatic(ForeignUpcall.class, "compare",
            MethodType.methodType(int.class, MemorySegment.class, MemorySegment.class));
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment stub = linker.upcallStub(compare,
                FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.ADDRESS), arena);
            MemorySegment numbers = arena.allocateFrom(ValueLayout.JAVA_INT, 3, 1, 2);
            qsort.invokeExact(numbers, 3L, 4L, stub);
        }
    }
}
