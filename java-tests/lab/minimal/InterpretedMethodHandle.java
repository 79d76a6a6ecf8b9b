/*
 * The callers of a method handle are missing where the call goes through the interpreter
 *
 * A method handle's call passes what is to be called as one more argument, which is popped on the way. The walk takes the
 * stack pointer that this leaves for a bad one, and ends there. Reflection that is built on method handles has the same.
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
