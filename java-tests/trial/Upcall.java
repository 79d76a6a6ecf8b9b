/*
 * A foreign function calls Java. AsyncGetCallTrace ends there.
 *
 * From: 22
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

public class Upcall {
    static long end;
    static int sink;

    static int compare(MemorySegment one, MemorySegment other) {
        while (System.nanoTime() < end) {
            sink += 3;
        }
        return 0;
    }

    public static void main(String[] args) throws Throwable {
        end = System.nanoTime() + 2_000_000_000L;
        Linker linker = Linker.nativeLinker();
        MethodHandle qsort = linker.downcallHandle(linker.defaultLookup().find("qsort").get(), FunctionDescriptor.ofVoid(
            ValueLayout.ADDRESS, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG, ValueLayout.ADDRESS));
        MethodHandle compare = MethodHandles.lookup().findStatic(Upcall.class, "compare",
            MethodType.methodType(int.class, MemorySegment.class, MemorySegment.class));
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment stub = linker.upcallStub(compare,
                FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.ADDRESS), arena);
            qsort.invokeExact(arena.allocateFrom(ValueLayout.JAVA_INT, 3, 1, 2), 3L, 4L, stub);
        }
    }
}
