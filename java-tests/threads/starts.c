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

/* True once this library's threads are begun by somebody else than the system's own function. */
int met(void)
{
    return (void *)pthread_create != dlsym(RTLD_DEFAULT, "pthread_create");
}

/* One thread after the other, each of which burns so much. */
void go(int threads, long millis)
{
    for (int at = 0; at < threads; at++) {
        pthread_t thread;
        if (pthread_create(&thread, 0, burn, (void *)millis) == 0)
            pthread_join(thread, 0);
    }
}
