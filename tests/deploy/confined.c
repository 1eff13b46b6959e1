/*
 * confined: runs a program that may make these system calls and no others, as a unit of systemd
 * with SystemCallFilter= and UMask= would have it. Whatever else it calls fails with EPERM.
 *
 *     confined NUMBERS PROGRAM ARGUMENT...      NUMBERS: of system calls, with commas between them
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CALLS_MAX = 1000 };

int main(int argc, char **argv)
{
    static struct sock_filter code[2 * CALLS_MAX + 2];
    unsigned short len = 0;

    if (argc < 3)
        return 2;
    code[len++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (char *word = strtok(argv[1], ","); word && len < 2 * CALLS_MAX; word = strtok(NULL, ",")) {
        code[len++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)atoi(word), 0, 1);
        code[len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    code[len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    struct sock_fprog filter = { .len = len, .filter = code };
    umask(077);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
        perror("confined");
        return 1;
    }
    execv(argv[2], argv + 2);
    perror(argv[2]);
    return 1;
}
