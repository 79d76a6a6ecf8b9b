/* Another profiler: an agent with its own SIGPROF handler. */
#include <jni.h>
#include <signal.h>
#include <stddef.h>

static void on_signal(int number) { (void)number; }

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    (void)vm, (void)options, (void)reserved;
    return sigaction(SIGPROF, &action, NULL) == 0 ? JNI_OK : JNI_ERR;
}
