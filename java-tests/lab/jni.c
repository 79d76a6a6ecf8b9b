/*
 * Native methods that call back into Java, one for each of JNI's ways.
 */
#define _GNU_SOURCE
#include <jni.h>
#include <pthread.h>
#include <stdlib.h>

static jmethodID static_method(JNIEnv *env, jclass class, const char *name, const char *signature) {
    return (*env)->GetStaticMethodID(env, class, name, signature);
}

JNIEXPORT void JNICALL Java_Jni_callStatic(JNIEnv *env, jclass class) {
    (*env)->CallStaticVoidMethod(env, class, static_method(env, class, "asks", "()V"));
}

JNIEXPORT void JNICALL Java_Jni_callVirtual(JNIEnv *env, jclass class, jobject to) {
    (void)class;
    jmethodID method = (*env)->GetMethodID(env, (*env)->GetObjectClass(env, to), "run", "()V");
    (*env)->CallVoidMethod(env, to, method);
}

JNIEXPORT void JNICALL Java_Jni_callNonvirtual(JNIEnv *env, jclass class, jobject to, jclass super) {
    (void)class;
    jmethodID method = (*env)->GetMethodID(env, super, "run", "()V");
    (*env)->CallNonvirtualVoidMethod(env, to, super, method);
}

JNIEXPORT jobject JNICALL Java_Jni_newObject(JNIEnv *env, jclass class, jclass made) {
    (void)class;
    return (*env)->NewObject(env, made, (*env)->GetMethodID(env, made, "<init>", "()V"));
}

/* Looking up a method of a class initialises the class. */
JNIEXPORT void JNICALL Java_Jni_initialise(JNIEnv *env, jclass class, jclass initialised) {
    (void)class;
    static_method(env, initialised, "nothing", "()V");
}

JNIEXPORT void JNICALL Java_Jni_up(JNIEnv *env, jclass class, jint left) {
    (*env)->CallStaticVoidMethod(env, class, static_method(env, class, "down", "(I)V"), left);
}

/* The method is synchronized, so its own frame holds a lock. */
JNIEXPORT void JNICALL Java_Jni_callLocked(JNIEnv *env, jclass class) {
    Java_Jni_callStatic(env, class);
}

/* The called method throws. Its exception is cleared, and another call is made. */
JNIEXPORT jboolean JNICALL Java_Jni_clearThenCall(JNIEnv *env, jclass class) {
    (*env)->CallStaticVoidMethod(env, class, static_method(env, class, "fails", "()V"));
    jboolean thrown = (*env)->ExceptionCheck(env);
    (*env)->ExceptionClear(env);
    Java_Jni_callStatic(env, class);
    return thrown;
}

/* The called method throws, and its exception goes on into the Java caller. */
JNIEXPORT void JNICALL Java_Jni_pass(JNIEnv *env, jclass class) {
    (*env)->CallStaticVoidMethod(env, class, static_method(env, class, "fails", "()V"));
}

/* This native method throws an exception itself. */
JNIEXPORT void JNICALL Java_Jni_fail(JNIEnv *env, jclass class) {
    (void)class;
    (*env)->ThrowNew(env, (*env)->FindClass(env, "java/lang/IllegalStateException"), "meant");
}

struct call {
    JavaVM *vm;
    jclass class;
    jmethodID method;
    jint left;
};

static void *attached(void *argument) {
    struct call *call = argument;
    JNIEnv *env;
    if ((*call->vm)->AttachCurrentThread(call->vm, (void **)&env, NULL) != JNI_OK) {
        abort();
    }
    (*env)->CallStaticVoidMethod(env, call->class, call->method, call->left);
    (*call->vm)->DetachCurrentThread(call->vm);
    return NULL;
}

/* A new C thread calls `down`; returns once it has ended. */
JNIEXPORT void JNICALL Java_Jni_attach(JNIEnv *env, jclass class, jint left) {
    struct call call;
    (*env)->GetJavaVM(env, &call.vm);
    call.class = (*env)->NewGlobalRef(env, class);
    call.method = static_method(env, class, "down", "(I)V");
    call.left = left;
    pthread_t thread;
    if (pthread_create(&thread, NULL, attached, &call) != 0) {
        abort();
    }
    pthread_join(thread, NULL);
    (*env)->DeleteGlobalRef(env, call.class);
}
