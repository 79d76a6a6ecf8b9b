/*
 * A control for Expiries. A perf event signals this program each millisecond of CPU time, but the
 * signal is blocked for 27 ms of every 30. Of the blocked ones, a single signal is delivered. Once
 * the test has enough signals, or none comes, the program executes the one in its argument.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SIGNALS = 80, MOST_CPU_MS = 20000 };

static volatile sig_atomic_t signals;

static void on_signal(int number) {
    (void)number;
    signals++;
}

static long cpu_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int main(int argc, char **argv) {
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .size = sizeof attr, .config = PERF_COUNT_SW_CPU_CLOCK};
    attr.sample_period = 1000000;
    attr.wakeup_events = 1;
    attr.disabled = 1;
    signal(SIGPROF, on_signal);
    int event = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (event < 0) {
        return 77;
    }
    fcntl(event, F_SETFL, O_ASYNC | O_NONBLOCK);
    fcntl(event, F_SETSIG, SIGPROF);
    fcntl(event, F_SETOWN, getpid());
    ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
    sigset_t profiling;
    sigemptyset(&profiling);
    sigaddset(&profiling, SIGPROF);
    for (long begun = cpu_ms(), now = begun; signals < SIGNALS && now < begun + MOST_CPU_MS; now = cpu_ms()) {
        sigprocmask((now - begun) % 30 < 27 ? SIG_BLOCK : SIG_UNBLOCK, &profiling, NULL);
    }
    sigprocmask(SIG_UNBLOCK, &profiling, NULL);
    close(event);
    signal(SIGPROF, SIG_DFL);
    return argc > 1 ? execv(argv[1], argv + 1) : 1;
}
