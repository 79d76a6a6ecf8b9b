// A native frame on a virtual thread's stack: it calls back into Java and pins the thread to its
// carrier.

#include <jni.h>

JNIEXPORT void JNICALL Java_VirtualThreads_call(JNIEnv *env, jclass self, jobject runnable) {
    jclass type = (*env)->GetObjectClass(env, runnable);
    jmethodID run = (*env)->GetMethodID(env, type, "run", "()V");
    if (run != NULL) {
        (*env)->CallVoidMethod(env, runnable, run);
    }
}
