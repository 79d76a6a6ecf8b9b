/*
 * A thread runs on a stack too small for a signal handler, as in Go. Like Go, the library has a
 * separate signal stack for each thread, and its own SIGURG handler, by which the agent recognises
 * that.
 */
#define _GNU_SOURCE
#include <jni.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

enum { PAGE = 4096, ALTERNATE = 64 << 10 };

static volatile int64_t sink;
static int millis;
static ucontext_t from, on_small;

static int64_t cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void burn(void) {
    int64_t until = cpu_ns() + millis * INT64_C(1000000);
    while (cpu_ns() < until) {
        for (int i = 0; i < 20000; i++) {
            sink = sink * 31 + i;
        }
    }
}

/* Uses all but the last KiB of the stack's single page; the memory below must not be touched. */
static void fill(void) {
    volatile char used[PAGE - 1200];
    for (size_t at = 0; at < sizeof used; at++) {
        used[at] = 1;
    }
    burn();
    sink += used[0];
}

static void *run(void *argument) {
    (void)argument;
    pthread_setname_np(pthread_self(), "small stack");
    /*
     * Calls this once on the large stack, since the first call makes the linker resolve the symbol.
     */
    sink = cpu_ns();
    stack_t alternate = {malloc(ALTERNATE), 0, ALTERNATE};
    char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages, PAGE, PROT_NONE) != 0 || sigaltstack(&alternate, NULL) != 0 || getcontext(&on_small) != 0) {
        abort();
    }
    on_small.uc_stack.ss_sp = pages + PAGE;
    on_small.uc_stack.ss_size = PAGE;
    on_small.uc_link = &from;
    makecontext(&on_small, fill, 0);
    swapcontext(&from, &on_small);
    return NULL;
}

static void urgent(int signal, siginfo_t *info, void *context) {
    (void)signal;
    (void)info;
    (void)context;
}

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved) {
    (void)vm;
    (void)reserved;
    struct sigaction action = {.sa_sigaction = urgent, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    sigaction(SIGURG, &action, NULL);
    return JNI_VERSION_1_6;
}

JNIEXPORT void JNICALL Java_SmallStacks_00024Program_work(JNIEnv *env, jclass class, jint wanted) {
    (void)env;
    (void)class;
    pthread_t thread;
    millis = wanted;
    pthread_create(&thread, NULL, run, NULL);
    pthread_join(thread, NULL);
}
