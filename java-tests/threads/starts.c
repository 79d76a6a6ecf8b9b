#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

static long cpu_millis(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void *burn(void *millis)
{
    while (cpu_millis() < (long)millis)
        ;
    return 0;
}

/* True once the agent, instead of the C library, starts this library's threads. */
int met(void)
{
    return (void *)pthread_create != dlsym(RTLD_DEFAULT, "pthread_create");
}

/* Runs this many threads, one after another; each burns this much CPU time. */
void go(int threads, long millis)
{
    for (int at = 0; at < threads; at++) {
        pthread_t thread;
        if (pthread_create(&thread, 0, burn, (void *)millis) == 0)
            pthread_join(thread, 0);
    }
}
