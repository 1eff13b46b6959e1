/*
 * bench/load: an HTTP load generator, for a separate process.
 *
 * It keeps a number of keep-alive connections busy, one request at a time on each, with epoll. Its
 * own CPU is not measured: the server runs in another process, see load_cpu_seconds.
 */
#ifndef NOD_BENCH_LOAD_H
#define NOD_BENCH_LOAD_H

#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"

struct load;

struct load_opts {
    int port; /* on 127.0.0.1 */
    int connections;
    struct str request; /* sent again and again ... */
    /*
     * ... or, if set, what comes next on that connection, given the body of the last response
     * (none at first). The slice must live until the next call for that connection.
     */
    struct str (*next)(int connection, struct str body, void *data);
    void *data;
};

/* Connects. Ends the process with a message if something fails. */
struct load *load_open(const struct load_opts *opts);
/* Makes so many exchanges in all. Returns the wall seconds it took. */
double load_run(struct load *load, uint64_t exchanges);
void load_close(struct load *load);

/*
 * Starts serve(port_fd, data) in a child process. It writes its port, an int, to port_fd and serves
 * until it is killed.
 */
struct load_server {
    pid_t pid;
    int port;
};
struct load_server load_server_start(void (*serve)(int port_fd, void *data), void *data);
void load_server_stop(struct load_server *server);

double load_cpu_seconds(const struct load_server *server);
/* Resident bytes. */
uint64_t load_rss(const struct load_server *server);

/* As many open files as the hard limit allows. */
void load_raise_files(void);

double load_median(double *values, size_t count);

#endif
