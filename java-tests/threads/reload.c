#include <dlfcn.h>
#include <jni.h>
#include <stdint.h>
#include <time.h>

/* Loads a library, has it start threads, unloads it; where it lay. */
JNIEXPORT jlong JNICALL Java_Reloaded_00024Program_run(JNIEnv *env, jclass type, jstring path, jint threads, jlong millis)
{
    const char *name = (*env)->GetStringUTFChars(env, path, NULL);
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    (*env)->ReleaseStringUTFChars(env, path, name);
    if (library == NULL)
        return 0;
    void (*go)(int, long) = (void (*)(int, long))(uintptr_t)dlsym(library, "go");
    /* The agent looks ten times a second for what has been loaded. */
    struct timespec pause = { 0, 500000000 };
    nanosleep(&pause, NULL);
    if (go != NULL)
        go(threads, millis);
    jlong place = (jlong)(uintptr_t)go;
    dlclose(library);
    return place;
}
