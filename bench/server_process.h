/*
 * bench/server_process: a server as a child process, found by the line in which it prints its
 * address.
 */
#ifndef NOD_BENCH_SERVER_PROCESS_H
#define NOD_BENCH_SERVER_PROCESS_H

#include <sys/types.h>

struct server_process {
    pid_t pid;
    int port;
    int in, out; /* its stdin and stdout, of server_process_pipe */
};

/* Waits for "...http://127.0.0.1:PORT/mcp" on its stderr or stdout. Ends this process with a
 * message if none comes. */
struct server_process server_process_start(char *const argv[]);
/* Speaks stdio: in and out are pipes, stderr is discarded. */
struct server_process server_process_pipe(char *const argv[]);
void server_process_stop(struct server_process *server);
/* User and system seconds so far. */
double server_process_cpu(const struct server_process *server);

#endif
