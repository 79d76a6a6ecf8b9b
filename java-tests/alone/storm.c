/*
 * To be preloaded. It binds the process to one core and makes a timer interrupt there every 50 us
 * for some seconds, as a faulty engine would. With STORM=ours the storm rages only while the
 * process has three perf events enabled. It is quiet when the agent pauses them, so it looks like
 * the agent's own. With STORM=others it rages all the time, as if another program caused it. The
 * storm ends by itself, so that it cannot outlast the test.
 */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DESCRIPTORS = 4096, ENOUGH = 3, SECONDS = 8 };

static char on[DESCRIPTORS];
static int how_many;
static int storm = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int real_ioctl(int descriptor, unsigned long request, unsigned long argument) {
    return (int)syscall(SYS_ioctl, descriptor, request, argument);
}

static void *end(void *nothing) {
    sleep(SECONDS);
    pthread_mutex_lock(&lock);
    syscall(SYS_close, storm);
    storm = -1;
    pthread_mutex_unlock(&lock);
    return nothing;
}

static int ours(void) {
    const char *whose = getenv("STORM");
    return whose != NULL && strcmp(whose, "ours") == 0;
}

/* The caller holds the lock. */
static void set(int descriptor, int is_on) {
    if (descriptor < 0 || descriptor >= DESCRIPTORS || on[descriptor] == is_on) {
        return;
    }
    on[descriptor] = (char)is_on;
    how_many += is_on ? 1 : -1;
    if (storm >= 0 && ours()) {
        real_ioctl(storm, how_many >= ENOUGH ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
    }
}

int ioctl(int descriptor, unsigned long request, ...) {
    va_list arguments;
    va_start(arguments, request);
    unsigned long argument = va_arg(arguments, unsigned long);
    va_end(arguments);
    if (request == PERF_EVENT_IOC_ENABLE || request == PERF_EVENT_IOC_DISABLE) {
        pthread_mutex_lock(&lock);
        set(descriptor, request == PERF_EVENT_IOC_ENABLE);
        pthread_mutex_unlock(&lock);
    }
    return real_ioctl(descriptor, request, argument);
}

int close(int descriptor) {
    pthread_mutex_lock(&lock);
    set(descriptor, 0);
    pthread_mutex_unlock(&lock);
    return (int)syscall(SYS_close, descriptor);
}

__attribute__((constructor)) static void begin(void) {
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .size = sizeof attr, .config = PERF_COUNT_SW_CPU_CLOCK};
    attr.sample_period = 50000;
    attr.disabled = ours();
    int core = sched_getcpu();
    /*
     * The event counts everything on the core, not only this process, so it fires when others run
     * too.
     */
    storm = (int)syscall(SYS_perf_event_open, &attr, -1, core, -1, PERF_FLAG_FD_CLOEXEC);
    if (storm < 0) {
        _exit(77);
    }
    pthread_t thread;
    pthread_create(&thread, NULL, end, NULL);
    pthread_detach(thread);
    /*
     * The thread that ends the storm is created before this line, so that it is not bound to the
     * core.
     */
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof one, &one);
}
