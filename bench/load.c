/*
 * bench/load: see load.h.
 *
 * A connection sends its request whole and reads until the response is complete: by its
 * Content-Length, or by the last chunk. All connections share the loop of load_run.
 */
#include "load.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"

enum {
    LOAD_EVENTS = 256,
    LOAD_STALL_MS = 20000,
    LOAD_RESPONSE_MAX = 16 << 20,
    LOAD_READ = 64 * 1024
};

struct load_conn {
    int fd;
    int index;
    bool busy;
    struct buf got;
};

struct load {
    struct load_opts opts;
    int epoll;
    struct load_conn *conns;
    char read[LOAD_READ];
};

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int dial(int port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
        fail("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return fd;
}

struct load *load_open(const struct load_opts *opts)
{
    struct load *load = MEM_NEW(struct load);

    load->opts = *opts;
    load->epoll = epoll_create1(EPOLL_CLOEXEC);
    load->conns = mem_zalloc((size_t)opts->connections * sizeof(*load->conns));
    for (int i = 0; i < opts->connections; i++) {
        struct load_conn *conn = &load->conns[i];
        struct epoll_event event = { .events = EPOLLIN, .data.ptr = conn };
        conn->fd = dial(opts->port);
        conn->index = i;
        buf_init(&conn->got, LOAD_RESPONSE_MAX);
        if (epoll_ctl(load->epoll, EPOLL_CTL_ADD, conn->fd, &event) != 0)
            fail("epoll_ctl");
    }
    return load;
}

void load_close(struct load *load)
{
    for (int i = 0; i < load->opts.connections; i++) {
        close(load->conns[i].fd);
        buf_finish(&load->conns[i].got);
    }
    close(load->epoll);
    mem_free(load->conns);
    mem_free(load);
}

static void send_next(struct load *load, struct load_conn *conn, struct str body)
{
    struct str request =
        load->opts.next ? load->opts.next(conn->index, body, load->opts.data) : load->opts.request;

    buf_clear(&conn->got);
    conn->busy = true;
    while (request.len) {
        ssize_t n = send(conn->fd, request.at, request.len, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            fail("send");
        request = str_skip(request, n > 0 ? (size_t)n : 0);
    }
}

/* The body if the response is complete. Chunked bodies are given with their chunk lines. */
static bool response_complete(const struct load_conn *conn, struct str *body)
{
    struct str got = buf_str(&conn->got);
    ptrdiff_t end = str_find(got, STR("\r\n\r\n"));

    if (end < 0)
        return false;
    struct str head = str_n(got.at, (size_t)end + 2);
    *body = str_skip(got, (size_t)end + 4);
    ptrdiff_t length = str_find(head, STR("\r\nContent-Length: "));
    if (length < 0)
        return str_ends(*body, STR("\r\n0\r\n\r\n"));
    size_t wanted = strtoul(head.at + length + strlen("\r\nContent-Length: "), NULL, 10);
    return body->len >= wanted;
}

/* True when it has received all of its response. */
static bool conn_read(struct load *load, struct load_conn *conn, struct str *body)
{
    ssize_t n = recv(conn->fd, load->read, sizeof(load->read), MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0)
        fail("the server closed a connection");
    buf_add(&conn->got, str_n(load->read, (size_t)n));
    return response_complete(conn, body);
}

static double wall_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

double load_run(struct load *load, uint64_t exchanges)
{
    struct epoll_event events[LOAD_EVENTS];
    uint64_t sent = 0;
    uint64_t received = 0;
    double begun = wall_seconds();

    for (int i = 0; i < load->opts.connections && sent < exchanges; i++, sent++)
        send_next(load, &load->conns[i], STR_NONE);
    while (received < exchanges) {
        int ready = epoll_wait(load->epoll, events, LOAD_EVENTS, LOAD_STALL_MS);
        if (ready == 0)
            fail("no response for too long");
        for (int i = 0; i < ready; i++) {
            struct load_conn *conn = events[i].data.ptr;
            struct str body;
            if (!conn_read(load, conn, &body) || !conn->busy)
                continue;
            conn->busy = false;
            received++;
            if (sent < exchanges) {
                sent++;
                send_next(load, conn, body);
            }
        }
    }
    return wall_seconds() - begun;
}

struct load_server load_server_start(void (*serve)(int port_fd, void *data), void *data)
{
    struct load_server server = { 0 };
    int ends[2];

    if (pipe(ends) != 0)
        fail("pipe");
    fflush(NULL);
    server.pid = fork();
    if (server.pid < 0)
        fail("fork");
    if (server.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* it does not outlive a benchmark that fails */
        close(ends[0]);
        serve(ends[1], data);
        _exit(0);
    }
    close(ends[1]);
    if (read(ends[0], &server.port, sizeof(server.port)) != sizeof(server.port))
        fail("the server did not start");
    close(ends[0]);
    return server;
}

void load_server_stop(struct load_server *server)
{
    kill(server->pid, SIGKILL);
    waitpid(server->pid, NULL, 0);
}

double load_cpu_seconds(const struct load_server *server)
{
    clockid_t clock;
    struct timespec t;

    if (clock_getcpuclockid(server->pid, &clock) != 0 || clock_gettime(clock, &t) != 0)
        fail("the server's CPU clock");
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

uint64_t load_rss(const struct load_server *server)
{
    char path[64];
    unsigned long size;
    unsigned long resident;

    snprintf(path, sizeof(path), "/proc/%d/statm", (int)server->pid);
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%lu %lu", &size, &resident) != 2)
        fail(path);
    fclose(file);
    return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

void load_raise_files(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return x < y ? -1 : x > y;
}

double load_median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), by_value);
    return values[count / 2];
}
