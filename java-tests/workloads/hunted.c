/* What Hunted does in C: threads that attach, and libraries that come and go. */
#include <dlfcn.h>
#include <jni.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { AT_ONCE = 16, PAGE = 4096, CODE_BYTES = 256, ROUNDS = 200000 };

typedef long spin(long);

static JavaVM *vm;
static jclass program;
static jmethodID work;

static void *run(void *well) {
    JNIEnv *env;
    if ((*vm)->AttachCurrentThread(vm, (void **)&env, NULL) != JNI_OK)
        return NULL;
    (*env)->CallStaticVoidMethod(env, program, work, 1);
    *(int *)well = !(*env)->ExceptionCheck(env);
    (*vm)->DetachCurrentThread(vm);
    return NULL;
}

JNIEXPORT jint JNICALL Java_Hunted_attach(JNIEnv *env, jclass type, jint count) {
    (*env)->GetJavaVM(env, &vm);
    program = (*env)->NewGlobalRef(env, type);
    work = (*env)->GetStaticMethodID(env, type, "work", "(I)V");
    jint well = 0;
    for (jint begun = 0; begun < count; begun += AT_ONCE) {
        pthread_t threads[AT_ONCE];
        int worked[AT_ONCE] = {0};
        int started[AT_ONCE];
        for (int at = 0; at < AT_ONCE; at++)
            started[at] = pthread_create(&threads[at], NULL, run, &worked[at]) == 0;
        for (int at = 0; at < AT_ONCE; at++) {
            if (started[at])
                pthread_join(threads[at], NULL);
            well += worked[at];
        }
    }
    return well;
}

/* Runs a library's function, then the same code in other memory at that address. */
JNIEXPORT jint JNICALL Java_Hunted_reload(JNIEnv *env, jclass type, jstring path) {
    (void)type;
    const char *name = (*env)->GetStringUTFChars(env, path, NULL);
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    (*env)->ReleaseStringUTFChars(env, path, name);
    spin **entry = library == NULL ? NULL : dlsym(library, "entry");
    if (entry == NULL)
        return 0;
    spin *function = *entry;
    uintptr_t address = (uintptr_t)function;
    unsigned char code[CODE_BYTES];
    memcpy(code, (void *)address, CODE_BYTES);
    long expected = function(ROUNDS);
    dlclose(library);
    char *page = (char *)(address & -(uintptr_t)PAGE);
    void *made = mmap(page, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        return 0;
    function = (spin *)(uintptr_t)((char *)made + (address & (PAGE - 1)));
    memcpy((void *)(uintptr_t)function, code, CODE_BYTES);
    long found = function(ROUNDS);
    munmap(made, 2 * PAGE);
    return found == expected;
}
