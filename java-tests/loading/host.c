/*
 * A program that has its own JVM, as servers, editors and databases have: started as `java` is, it calls `work(int)` of the class, so often and
 * with such a number as its last two arguments say, and never `main`.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <jni.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef jint (*Create)(JavaVM **, void **, void *);

static void *jvm_of(const char *java) {
    const char *places[] = {"%.*s/lib/server/libjvm.so", "%.*s/jre/lib/amd64/server/libjvm.so", "%.*s/lib/amd64/server/libjvm.so"};
    int home = strlen(java) - strlen("/bin/java");
    for (int at = 0; at < 3; at++) {
        char path[4096];
        snprintf(path, sizeof path, places[at], home, java);
        void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
        if (library)
            return library;
    }
    fprintf(stderr, "the JVM of %s cannot be loaded: %s\n", java, dlerror());
    exit(2);
}

int main(int argc, char **argv) {
    JavaVMOption options[64];
    memset(options, 0, sizeof options);
    int count = 0, at = 2;
    for (; at < argc && argv[at][0] == '-' && count < 64; at++) {
        if (strcmp(argv[at], "-cp") != 0)
            options[count++].optionString = argv[at];
        else if (asprintf(&options[count++].optionString, "-Djava.class.path=%s", argv[++at]) < 0)
            return 2;
    }
    if (at + 3 != argc) {
        fprintf(stderr, "a class, a count and a number are needed\n");
        return 2;
    }
    JavaVMInitArgs args = {JNI_VERSION_1_8, count, options, JNI_FALSE};
    JavaVM *vm;
    JNIEnv *env;
    Create create = (Create) dlsym(jvm_of(argv[1]), "JNI_CreateJavaVM");
    if (!create || create(&vm, (void **) &env, &args) != JNI_OK)
        return 3;
    jclass class = (*env)->FindClass(env, argv[at]);
    jmethodID work = class ? (*env)->GetStaticMethodID(env, class, "work", "(I)V") : NULL;
    for (int left = work ? atoi(argv[at + 1]) : 0; left > 0; left--)
        (*env)->CallStaticVoidMethod(env, class, work, atoi(argv[at + 2]));
    int failed = !work || (*env)->ExceptionCheck(env);
    if (failed)
        (*env)->ExceptionDescribe(env);
    (*vm)->DestroyJavaVM(vm);
    return failed;
}
