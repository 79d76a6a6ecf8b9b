/*
 * A program with its own JVM, as in servers, editors and databases. Its arguments are those of
 * `java`. It never calls `main`, but calls the class's `work(int)`. The last two arguments are the
 * number of calls and their argument.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <jni.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Prints each descriptor's file, each thread's name, and the library of each signal handler. */
static void show_remains(void) {
    char path[300], text[4096];
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *entry; (entry = readdir(folder));) {
        snprintf(path, sizeof path, "/proc/self/fd/%s", entry->d_name);
        ssize_t length = readlink(path, text, sizeof text - 1);
        if (length > 0)
            printf("descriptor %s %.*s\n", entry->d_name, (int) length, text);
    }
    closedir(folder);
    folder = opendir("/proc/self/task");
    for (struct dirent *entry; (entry = readdir(folder));) {
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        FILE *file = fopen(path, "r");
        if (file && fgets(text, sizeof text, file))
            printf("thread %s", text);
        if (file)
            fclose(file);
    }
    closedir(folder);
    for (int signal = 1; signal < NSIG; signal++) {
        struct sigaction action;
        Dl_info info;
        if (sigaction(signal, NULL, &action) == 0 && action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN)
            printf("handler %d %s\n", signal, dladdr((void *) action.sa_handler, &info) ? info.dli_fname : "?");
    }
    fflush(stdout);
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
    if (getenv("HOST_SHOWS_REMAINS"))
        show_remains();
    return failed;
}
