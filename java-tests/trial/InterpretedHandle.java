/*
 * The interpreter calls a method handle, and the called method has no variables. The last argument
 * of the call is popped on the way. AsyncGetCallTrace and Flight Recorder take the resulting stack
 * pointer for a bad one, and end there (JDK-8302320).
 *
 * Run: -Xint
 */

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

public class InterpretedHandle {
    static int sink;

    static void work() {
        int sum = 0;
        for (long end = System.nanoTime() + 2_000_000_000L; System.nanoTime() < end;) {
            sum += 3;
        }
        sink = sum;
    }

    static void first() {
        work();
    }

    public static void main(String[] args) throws Throwable {
        MethodHandle work = MethodHandles.lookup().findStatic(InterpretedHandle.class, "first", MethodType.methodType(void.class));
        work.invokeExact();
    }
}
