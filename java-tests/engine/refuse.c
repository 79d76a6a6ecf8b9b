/*
 * usage: refuse ERRNO SYSCALL[,SYSCALL] COMMAND…
 * Runs a command in which some system calls fail, as under a container's seccomp filter.
 */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned number(const char *name) {
    if (strcmp(name, "perf_event_open") == 0) {
        return SYS_perf_event_open;
    }
    if (strcmp(name, "timer_create") == 0) {
        return SYS_timer_create;
    }
    fprintf(stderr, "refuse: %s is not known here\n", name);
    exit(2);
}

static void refuse(unsigned call, unsigned error) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        perror("refuse");
        exit(77);
    }
}

int main(int count, char **words) {
    if (count < 4) {
        fprintf(stderr, "usage: refuse ERRNO SYSCALL[,SYSCALL] COMMAND...\n");
        return 2;
    }
    for (char *name = strtok(words[2], ","); name != NULL; name = strtok(NULL, ",")) {
        refuse(number(name), (unsigned)atoi(words[1]));
    }
    execvp(words[3], words + 3);
    perror(words[3]);
    return 127;
}
