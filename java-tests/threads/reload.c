#include <dlfcn.h>
#include <jni.h>
#include <stdint.h>
#include <time.h>

/* Loads a library, makes it start threads, and unloads it. Returns its address. */
JNIEXPORT jlong JNICALL Java_ReloadedLibrary_00024Program_run(JNIEnv *env, jclass type, jstring path, jint threads, jlong millis)
{
    const char *name = (*env)->GetStringUTFChars(env, path, NULL);
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    (*env)->ReleaseStringUTFChars(env, path, name);
    if (library == NULL)
        return 0;
    void (*go)(int, long) = (void (*)(int, long))(uintptr_t)dlsym(library, "go");
    int (*met)(void) = (int (*)(void))(uintptr_t)dlsym(library, "met");
    /*
     * Waits until the agent has noticed the library. Half a minute is longer than that takes
     * anywhere.
     */
    struct timespec pause = { 0, 10000000 };
    for (int left = 3000; left > 0 && met != NULL && !met(); left--)
        nanosleep(&pause, NULL);
    if (go != NULL)
        go(threads, millis);
    jlong place = (jlong)(uintptr_t)go;
    dlclose(library);
    return place;
}
