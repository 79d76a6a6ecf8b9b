#include <dlfcn.h>
#include <jni.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { CODE_BYTES = 256, PAGE = 4096 };

typedef long spin(long);

static void *library;
static spin *entry;
static unsigned char code[CODE_BYTES];

/* Loads a library, and returns where its function is. */
JNIEXPORT jlong JNICALL Java_ReplacedLibrary_00024Program_load(JNIEnv *env, jclass type, jstring path) {
    (void)type;
    const char *name = (*env)->GetStringUTFChars(env, path, NULL);
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    (*env)->ReleaseStringUTFChars(env, path, name);
    spin **symbol = library == NULL ? NULL : dlsym(library, "entry");
    if (symbol == NULL)
        return 0;
    entry = *symbol;
    memcpy(code, (void *)(uintptr_t)entry, CODE_BYTES);
    return (jlong)(uintptr_t)entry;
}

JNIEXPORT void JNICALL Java_ReplacedLibrary_00024Program_unload(JNIEnv *env, jclass type) {
    (void)env, (void)type;
    dlclose(library);
    entry = NULL;
}

/* As a JIT compiler of the program's own: makes code in memory, at the address of the library's. */
JNIEXPORT jlong JNICALL Java_ReplacedLibrary_00024Program_compile(JNIEnv *env, jclass type, jlong address) {
    (void)env, (void)type;
    char *page = (char *)(uintptr_t)(address & -PAGE);
    char *made = mmap(page, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made != page)
        return 0;
    memcpy((void *)(uintptr_t)address, code, CODE_BYTES);
    entry = (spin *)(uintptr_t)address;
    return address;
}

JNIEXPORT jlong JNICALL Java_ReplacedLibrary_00024Program_burn(JNIEnv *env, jclass type, jint millis) {
    (void)env, (void)type;
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    long until = now.tv_sec * 1000 + now.tv_nsec / 1000000 + millis;
    long sum = 0;
    do {
        sum += entry(100000);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < until);
    return sum;
}
