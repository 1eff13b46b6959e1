/* bench/server_process: see server_process.h. */
#include "server_process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void drain(int fd) /* a full pipe would stop the server */
{
    if (fork() == 0) {
        char bytes[4096];
        while (read(fd, bytes, sizeof(bytes)) > 0)
            ;
        _exit(0);
    }
    close(fd);
}

/* 0: not yet. There may be other addresses beside it, such as that of metrics. */
static int port_said(const char *text)
{
    static const char before[] = "http://127.0.0.1:";

    while ((text = strstr(text, before))) {
        char *end;
        long port = strtol(text += sizeof(before) - 1, &end, 10);
        if (strncmp(end, "/mcp", 4) == 0)
            return (int)port;
    }
    return 0;
}

struct server_process server_process_start(char *const argv[])
{
    struct server_process server = { .in = -1, .out = -1 };
    int said[2];
    char text[8192];
    size_t len = 0;

    if (pipe(said) != 0)
        die("pipe");
    server.pid = fork();
    if (server.pid == 0) {
        dup2(said[1], 1);
        dup2(said[1], 2);
        close(said[0]);
        close(said[1]);
        execvp(argv[0], argv);
        perror(argv[0]);
        _exit(127);
    }
    close(said[1]);
    while (len < sizeof(text) - 1) {
        ssize_t got = read(said[0], text + len, sizeof(text) - 1 - len);
        if (got <= 0)
            break;
        len += (size_t)got;
        text[len] = '\0';
        server.port = port_said(text);
        if (server.port) {
            drain(said[0]);
            return server;
        }
    }
    fprintf(stderr, "%s did not say where it listens\n", argv[0]);
    exit(1);
}

struct server_process server_process_pipe(char *const argv[])
{
    struct server_process server = { 0 };
    int to[2], from[2];

    if (pipe(to) != 0 || pipe(from) != 0)
        die("pipe");
    server.pid = fork();
    if (server.pid == 0) {
        dup2(to[0], 0);
        dup2(from[1], 1);
        int nothing = open("/dev/null", O_WRONLY);
        dup2(nothing, 2);
        close(to[0]);
        close(to[1]);
        close(from[0]);
        close(from[1]);
        execvp(argv[0], argv);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    server.in = to[1];
    server.out = from[0];
    return server;
}

void server_process_stop(struct server_process *server)
{
    if (server->in >= 0)
        close(server->in);
    if (server->out >= 0)
        close(server->out);
    kill(server->pid, SIGTERM);
    waitpid(server->pid, NULL, 0);
}

double server_process_cpu(const struct server_process *server)
{
    struct timespec time;
    clockid_t clock;

    if (clock_getcpuclockid(server->pid, &clock) != 0 || clock_gettime(clock, &time) != 0) {
        fprintf(stderr, "server_process: no CPU clock of %d\n", (int)server->pid);
        exit(1);
    }
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}
