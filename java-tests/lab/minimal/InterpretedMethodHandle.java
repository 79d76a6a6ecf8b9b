/*
 * The callers of a method handle are missing if the interpreter makes the call
 *
 * A method handle call passes the target as one more argument, which is popped on the way. The walk
 * treats the resulting stack pointer as invalid, and ends there. Reflection that is built on method
 * handles has the same failure.
 *
 * Seen in: MethodHandles.*
 * Shows: truncated on 8-11
 */

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

import dev.vouch.Oracle;

public class InterpretedMethodHandle {
    static void ask() {
        System.out.println(Oracle.self(100));
    }

    public static void main(String[] args) throws Throwable {
        MethodHandle ask = MethodHandles.lookup().findStatic(
            InterpretedMethodHandle.class, "ask", MethodType.methodType(void.class));
        ask.invokeExact();
    }
}
