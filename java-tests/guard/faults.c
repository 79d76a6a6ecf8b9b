/*
 * What programs do with faults: their own handlers, blocked signals, crashes. And the functions in
 * which the JVM itself causes faults.
 */
#define _GNU_SOURCE
#include <jni.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096

static char *page;
static struct sigaction before;
static volatile jint faults;

/*
 * As a garbage collector's barrier or a database's buffer pool: it handles faults in its own page,
 * and passes all others on to the previous handler.
 */
static void on_fault(int number, siginfo_t *info, void *context) {
    char *address = info->si_addr;
    if (address >= page && address < page + PAGE) {
        faults++;
        mprotect(page, PAGE, PROT_READ | PROT_WRITE);
    } else if (before.sa_flags & SA_SIGINFO) {
        before.sa_sigaction(number, info, context);
    } else {
        signal(number, SIG_DFL);
    }
}

JNIEXPORT void JNICALL Java_Native_handle(JNIEnv *env, jclass type) {
    (void)env, (void)type;
    page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigfillset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &before);
}

JNIEXPORT jint JNICALL Java_Native_fault(JNIEnv *env, jclass type) {
    (void)env, (void)type;
    mprotect(page, PAGE, PROT_NONE);
    *(volatile char *)page = 1;
    return faults;
}

static long cpu_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

JNIEXPORT void JNICALL Java_Native_burnBlocked(JNIEnv *env, jclass type, jint ms) {
    (void)env, (void)type;
    sigset_t faults_only, old;
    sigemptyset(&faults_only);
    sigaddset(&faults_only, SIGSEGV);
    sigaddset(&faults_only, SIGBUS);
    pthread_sigmask(SIG_BLOCK, &faults_only, &old);
    for (long end = cpu_ms() + ms; cpu_ms() < end;) {
    }
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, &old, &now);
    if (!sigismember(&now, SIGSEGV) || !sigismember(&now, SIGBUS)) {
        puts("the thread's mask of signals was changed");
    }
}

static sigjmp_buf here;
static volatile sig_atomic_t may_jump;

static void on_alarm(int number) {
    (void)number;
    if (may_jump) {
        may_jump = 0;
        siglongjmp(here, 1);
    }
}

/* Timeouts as in old resolvers: the signal's handler jumps back over what the thread is running. */
JNIEXPORT jint JNICALL Java_Native_jumpAway(JNIEnv *env, jclass type, jint times) {
    (void)env, (void)type;
    int number = SIGRTMIN + 5;
    struct sigaction action = {.sa_handler = on_alarm};
    sigaction(number, &action, NULL);
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = number};
    event._sigev_un._tid = syscall(SYS_gettid);
    timer_t timer;
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    static volatile jint jumps;
    jumps = 0;
    while (jumps < times) {
        if (sigsetjmp(here, 1) == 0) {
            struct itimerspec soon = {.it_value.tv_nsec = 800000 + jumps % 97 * 3001};
            may_jump = 1;
            timer_settime(timer, 0, &soon, NULL);
            for (;;) {
                __asm__ volatile("");
            }
        }
        jumps++;
    }
    timer_delete(timer);
    return jumps;
}

JNIEXPORT void JNICALL Java_Native_crash(JNIEnv *env, jclass type) {
    (void)env, (void)type;
    *(volatile int *)24 = 1;
}

/*
 * The JVM's SafeFetch: a load that returns a fallback for unmapped memory. It is generated code or
 * a function of the JVM's library.
 */
static const struct { int generated, length; const char *code; } loads[] = {
    {0, 6, "\x8b\x07\xc3\x89\xf0\xc3"},
    {0, 8, "\x48\x8b\x07\xc3\x48\x89\xf0\xc3"},
    {1, 6, "\x8b\x37\x48\x8b\xc6\xc3"},
    {1, 6, "\x8b\x37\x48\x89\xf0\xc3"},
    {1, 7, "\x48\x8b\x37\x48\x8b\xc6\xc3"},
    {1, 7, "\x48\x8b\x37\x48\x89\xf0\xc3"},
};

/* How many of these are in the JVM's code. Each is called with an unmapped address. */
JNIEXPORT jint JNICALL Java_Native_safeFetches(JNIEnv *env, jclass type) {
    (void)env, (void)type;
    char line[1000], mode[8], path[800];
    uintptr_t from, to;
    jint found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps)) {
        path[0] = 0;
        sscanf(line, "%lx-%lx %7s %*s %*s %*s %799s", &from, &to, mode, path);
        int generated = path[0] == 0 && mode[1] == 'w';
        if (mode[0] != 'r' || mode[2] != 'x' || !(generated || strstr(path, "libjvm.so"))) {
            continue;
        }
        for (size_t way = 0; way < sizeof loads / sizeof *loads; way++) {
            int length = loads[way].length;
            for (char *at = (char *)from; (at = memmem(at, to - (uintptr_t)at, loads[way].code, length)); at += length) {
                int prefixed = loads[way].code[0] != '\x48' && at > (char *)from && at[-1] == '\x48';
                if (generated == loads[way].generated && !prefixed) {
                    uint32_t (*fetch)(const void *, uint32_t) = (uint32_t (*)(const void *, uint32_t))at;
                    found += fetch((void *)16, 4711) == 4711 && fetch("some text", 4711) != 4711;
                }
            }
        }
    }
    fclose(maps);
    return found;
}
