/*
 * Threads that C creates. They attach to the JVM, call Java, detach and go on in C, or never
 * attach. Each measures the CPU time of its parts by the kernel's clock.
 */
#define _GNU_SOURCE
#include <jni.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ATTACH, ATTACH_AS_DAEMON, NEVER };
enum { RETURN, PTHREAD_EXIT };

struct work {
    const char *name;
    int attach, end;
    int64_t java_ns, c_ns;
    pthread_t thread;
};

static struct work works[] = {
    {"attached", ATTACH, RETURN, 0, 0, 0},
    {"attached exits", ATTACH, PTHREAD_EXIT, 0, 0, 0},
    {"daemon", ATTACH_AS_DAEMON, RETURN, 0, 0, 0},
    {"daemon exits", ATTACH_AS_DAEMON, PTHREAD_EXIT, 0, 0, 0},
    {"c returns", NEVER, RETURN, 0, 0, 0},
    {"c exits", NEVER, PTHREAD_EXIT, 0, 0, 0},
};
enum { WORKS = sizeof works / sizeof works[0] };

static JavaVM *vm;
static jclass program;
static jmethodID burn;
static int millis;
static volatile int64_t sink;

static int64_t cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

__attribute__((noinline)) static void burn_in_c(void) {
    int64_t until = cpu_ns() + millis * INT64_C(1000000);
    while (cpu_ns() < until) {
        for (int i = 0; i < 20000; i++) {
            sink = sink * 31 + i;
        }
    }
}

static void *run(void *argument) {
    struct work *work = argument;
    if (work->attach == NEVER) {
        pthread_setname_np(pthread_self(), work->name);
    } else {
        JNIEnv *env;
        JavaVMAttachArgs args = {JNI_VERSION_1_6, (char *)work->name, NULL};
        jint code = work->attach == ATTACH ? (*vm)->AttachCurrentThread(vm, (void **)&env, &args)
                                           : (*vm)->AttachCurrentThreadAsDaemon(vm, (void **)&env, &args);
        if (code != JNI_OK) {
            abort();
        }
        (*env)->CallStaticVoidMethod(env, program, burn, millis);
        work->java_ns = cpu_ns();
        (*vm)->DetachCurrentThread(vm);
    }
    burn_in_c();
    work->c_ns = cpu_ns() - work->java_ns;
    if (work->end == PTHREAD_EXIT) {
        pthread_exit(NULL);
    }
    return NULL;
}

/* The first thread starts with the first native call after the library was loaded. */
JNIEXPORT void JNICALL Java_NativeThreads_00024Program_start(JNIEnv *env, jclass class, jint each) {
    (*env)->GetJavaVM(env, &vm);
    program = (*env)->NewGlobalRef(env, class);
    burn = (*env)->GetStaticMethodID(env, class, "burn", "(I)V");
    millis = each;
    for (int i = 0; i < WORKS; i++) {
        if (pthread_create(&works[i].thread, NULL, run, &works[i]) != 0) {
            abort();
        }
    }
}

/*
 * Waits for thread number `index`; returns its name, and its CPU times in Java and in C. Returns
 * null after the last thread.
 */
JNIEXPORT jstring JNICALL Java_NativeThreads_00024Program_join(JNIEnv *env, jclass class, jint index, jlongArray times) {
    (void)class;
    if (index >= WORKS) {
        return NULL;
    }
    pthread_join(works[index].thread, NULL);
    jlong ns[2] = {works[index].java_ns, works[index].c_ns};
    (*env)->SetLongArrayRegion(env, times, 0, 2, ns);
    return (*env)->NewStringUTF(env, works[index].name);
}
