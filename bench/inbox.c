/*
 * bench/inbox: questions that are up in the inbox beside the client.
 *
 *   inbox.vs_client         server CPU of a call that its client answers, over that of one that is
 *                           answered through the API; in turns
 *   inbox.watched_vs_alone  asks per second, of a thousand that come, while 500 event streams are
 *                           read, over those without any; in turns
 *
 * Every reader keeps the list of what waits as the page does: from the list, and from what the
 * events say. At the end nothing waits, so every list has to be empty, or the program fails. The
 * readers are a process of their own.
 *
 * Run as: bench-inbox SERVER
 */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/id.h"
#include "base/map.h"
#include "base/mem.h"
#include "json/value.h"
#include "load.h"
#include "mcp_load.h"
#include "server_process.h"

#define TOKEN "a-token-for-the-benchmark-of-the-inbox"

enum {
    CLIENTS = 128,
    CALLS = 5000, /* a round */
    ROUNDS = 7,
    STREAMS = 500,
    PER_SECOND = 1000,    /* asks while streams are read */
    WATCHED_CALLS = 4000, /* a round */
    WATCHED_ROUNDS = 3,
    SETTLE_MS = 5000, /* how long a list may take to be right, when nothing happens any more */
    EVENT_MAX = 64 << 20,
    LISTED_MAX = 100000,
};

static struct server_process server;
static bool reads; /* this is the process of the readers */

static void fail(const char *what)
{
    fprintf(stderr, "bench-inbox: %s\n", what);
    if (!reads && server.pid)
        server_process_stop(&server);
    exit(1);
}

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* --- one reader: a stream, and the list that it keeps --- */

struct listed {
    struct id id;
};

struct reader {
    int fd, port;
    struct buf raw;     /* bytes of the response that are not read yet */
    struct buf text;    /* the same without chunks: events that are not read yet */
    bool headed;        /* the head of the response was read */
    struct map waiting; /* struct listed by id */
    uint64_t events;
};

static int connect_to(int port)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
        fail("cannot connect");
    return fd;
}

static void get(int fd, int port, const char *path)
{
    char head[1024];
    int len =
        snprintf(head, sizeof(head),
                 "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer " TOKEN "\r\n\r\n",
                 path, port);

    if (send(fd, head, (size_t)len, MSG_NOSIGNAL) != len)
        fail("cannot send");
}

static void waits(struct reader *reader, const struct json *item)
{
    struct str id = json_str(json_get(item, STR("id")));

    if (id.len != ID_LEN || map_get(&reader->waiting, id))
        return;
    struct listed *listed = mem_alloc(sizeof(*listed));
    memcpy(listed->id.text, id.at, ID_LEN);
    if (!map_set(&reader->waiting, id_str(&listed->id), listed))
        fail("a list is too long");
}

static void gone(struct reader *reader, struct str id)
{
    mem_free(map_remove(&reader->waiting, id));
}

static void forget_all(struct reader *reader)
{
    struct listed *listed;

    for (size_t at = 0; (listed = map_next(&reader->waiting, &at));)
        gone(reader, id_str(&listed->id));
}

static const struct json *parsed(struct arena *arena, struct str text)
{
    arena_init(arena, EVENT_MAX);
    const struct json *value = json_parse(arena, text, NULL, NULL);
    if (!value)
        fail("what came is not JSON");
    return value;
}

static void changes(struct reader *reader, struct str data)
{
    struct arena arena;
    const struct json *event = parsed(&arena, data);

    JSON_EACH (item, json_get(event, STR("pending")))
        waits(reader, item);
    JSON_EACH (item, json_get(event, STR("ended")))
        gone(reader, json_str(json_get(item, STR("id"))));
    JSON_EACH (id, json_get(event, STR("gone")))
        gone(reader, json_str(id));
    arena_finish(&arena);
}

/* Reads a whole response with a length. */
static void exchange(int fd, int port, const char *path, struct buf *body)
{
    char bytes[64 << 10];
    size_t whole = 0;
    struct buf in;

    buf_init(&in, EVENT_MAX);
    get(fd, port, path);
    while (!whole || in.len < whole) {
        ssize_t got = recv(fd, bytes, sizeof(bytes), 0);
        if (got <= 0)
            fail("the server closed a connection");
        buf_add(&in, str_n(bytes, (size_t)got));
        ptrdiff_t end = str_find(buf_str(&in), STR("\r\n\r\n"));
        ptrdiff_t length = str_find(buf_str(&in), STR("Content-Length: "));
        if (end >= 0 && length >= 0 && length < end)
            whole = (size_t)end + 4 + strtoul(in.at + length + 16, NULL, 10);
        if (end >= 0 && !whole)
            fail("a response has no length");
    }
    if (!str_starts(buf_str(&in), STR("HTTP/1.1 200")))
        fail("a list was refused");
    buf_clear(body);
    buf_add(body, str_skip(buf_str(&in), (size_t)str_find(buf_str(&in), STR("\r\n\r\n")) + 4));
    buf_finish(&in);
}

/* The list as it is now, page by page, as the page fetches it. */
static void fetch_list(struct reader *reader)
{
    char path[512] = "/api/elicitation?state=pending&limit=200";
    int fd = connect_to(reader->port);
    struct buf body;

    buf_init(&body, EVENT_MAX);
    forget_all(reader);
    for (bool more = true; more;) {
        struct arena arena;
        exchange(fd, reader->port, path, &body);
        const struct json *page = parsed(&arena, buf_str(&body));
        JSON_EACH (item, json_get(page, STR("items")))
            waits(reader, item);
        struct str next = json_str(json_get(page, STR("next")));
        more = next.len > 0;
        snprintf(path, sizeof(path), "/api/elicitation?state=pending&limit=200&cursor=" STR_FMT,
                 STR_ARG(next));
        arena_finish(&arena);
    }
    buf_finish(&body);
    close(fd);
}

static void event(struct reader *reader, struct str text)
{
    struct str name = STR_NONE, data = STR_NONE, line;

    while (text.len) {
        str_cut(text, '\n', &line, &text);
        if (str_starts(line, STR("event: ")))
            name = str_skip(line, 7);
        else if (str_starts(line, STR("data: ")))
            data = str_skip(line, 6);
    }
    reader->events++;
    if (str_eq(name, STR("changes")))
        changes(reader, data);
    else if (str_eq(name, STR("reset")))
        fetch_list(reader);
    else if (str_eq(name, STR("bye")))
        fail("a stream was ended");
}

static void drop(struct buf *buf, size_t count)
{
    memmove(buf->at, buf->at + count, buf->len - count);
    buf->len -= count;
}

/* Moves whole chunks from raw to text. */
static void unchunk(struct reader *reader)
{
    struct str raw = buf_str(&reader->raw);

    if (!reader->headed) {
        ptrdiff_t end = str_find(raw, STR("\r\n\r\n"));
        if (end < 0)
            return;
        if (!str_starts(raw, STR("HTTP/1.1 200")))
            fail("a stream was refused");
        raw = str_skip(raw, (size_t)end + 4);
        reader->headed = true;
    }
    for (;;) {
        ptrdiff_t line = str_find(raw, STR("\r\n"));
        size_t len = line < 0 ? 0 : strtoul(raw.at, NULL, 16);
        if (line < 0 || raw.len < (size_t)line + 2 + len + 2)
            break;
        if (len == 0)
            fail("a stream has ended");
        buf_add(&reader->text, str_n(raw.at + line + 2, len));
        raw = str_skip(raw, (size_t)line + 2 + len + 2);
    }
    drop(&reader->raw, reader->raw.len - raw.len);
}

static void readable(struct reader *reader)
{
    static char bytes[256 << 10];
    ssize_t got = recv(reader->fd, bytes, sizeof(bytes), 0);

    if (got <= 0)
        fail("the server closed a stream");
    if (!buf_add(&reader->raw, str_n(bytes, (size_t)got)))
        fail("an event is too large");
    unchunk(reader);
    for (ptrdiff_t end; (end = str_find(buf_str(&reader->text), STR("\n\n"))) >= 0;) {
        event(reader, str_n(reader->text.at, (size_t)end));
        drop(&reader->text, (size_t)end + 2);
    }
}

/* --- all of them, in a process of their own --- */

static bool all_empty(const struct reader *readers)
{
    for (int i = 0; i < STREAMS; i++)
        if (readers[i].waiting.count)
            return false;
    return true;
}

/* Opens the streams, says so with a byte, and reads until `from` has one. Then the lists have to
 * become empty. */
static int read_streams(int port, int to, int from)
{
    struct reader *readers = calloc(STREAMS, sizeof(*readers));
    struct epoll_event events[64], end = { .events = EPOLLIN };
    int epoll = epoll_create1(0);
    double until = 0;
    uint64_t count = 0;

    for (int i = 0; i < STREAMS; i++) {
        struct reader *reader = &readers[i];
        struct epoll_event in = { .events = EPOLLIN, .data.ptr = reader };
        reader->port = port;
        reader->fd = connect_to(port);
        map_init(&reader->waiting, LISTED_MAX);
        buf_init(&reader->raw, EVENT_MAX);
        buf_init(&reader->text, EVENT_MAX);
        get(reader->fd, port, "/api/events");
        epoll_ctl(epoll, EPOLL_CTL_ADD, reader->fd, &in);
    }
    epoll_ctl(epoll, EPOLL_CTL_ADD, from, &end);
    for (int opened = 0; !until || (!all_empty(readers) && now_ms() < until);) {
        int got = epoll_wait(epoll, events, 64, 100);
        for (int i = 0; i < got; i++) {
            struct reader *reader = events[i].data.ptr;
            if (!reader) {
                epoll_ctl(epoll, EPOLL_CTL_DEL, from, NULL);
                until = now_ms() + SETTLE_MS;
                continue;
            }
            bool was = reader->headed;
            readable(reader);
            if (!was && reader->headed && ++opened == STREAMS && write(to, "o", 1) != 1)
                fail("nobody listens");
        }
    }
    for (int i = 0; i < STREAMS; i++)
        count += readers[i].events;
    fprintf(stderr, "%d streams read %llu events; every list is %s\n", STREAMS,
            (unsigned long long)count, all_empty(readers) ? "right" : "NOT RIGHT");
    return all_empty(readers) ? 0 : 1;
}

struct watchers {
    pid_t pid;
    int end;
};

static struct watchers watch(int port)
{
    int ready[2], end[2];
    char byte;

    if (pipe(ready) != 0 || pipe(end) != 0)
        fail("no pipe");
    struct watchers watchers = { .pid = fork(), .end = end[1] };
    reads = watchers.pid == 0;
    if (reads) {
        close(end[1]); /* its end is how the parent says that it is over */
        _exit(read_streams(port, ready[1], end[0]));
    }
    close(ready[1]);
    close(end[0]);
    if (read(ready[0], &byte, 1) != 1)
        fail("the streams were not opened");
    close(ready[0]);
    return watchers;
}

static void unwatch(struct watchers *watchers)
{
    int status;

    close(watchers->end);
    if (waitpid(watchers->pid, &status, 0) != watchers->pid || status != 0)
        fail("a list was not right at the end");
}

/* --- what is measured --- */

static struct mcp_load *open_load(bool by_api, double per_second)
{
    return mcp_load_open(&(struct mcp_load_opts){ .port = server.port,
                                                  .clients = CLIENTS,
                                                  .era = MCP_ERA_2025,
                                                  .tool = "ask",
                                                  .expects = "\"text\":\"confirmed\"",
                                                  .token = TOKEN,
                                                  .by_api = by_api,
                                                  .per_second = per_second });
}

static double cpu_of(struct mcp_load *load)
{
    double before = server_process_cpu(&server);

    mcp_load_calls(load, CALLS);
    return (server_process_cpu(&server) - before) / CALLS;
}

static void show_vs_client(void)
{
    struct mcp_load *client = open_load(false, 0), *api = open_load(true, 0);
    double ratios[ROUNDS], clients[ROUNDS], apis[ROUNDS];

    cpu_of(client);
    cpu_of(api);
    for (int i = 0; i < ROUNDS; i++) {
        clients[i] = cpu_of(client);
        apis[i] = cpu_of(api);
        ratios[i] = clients[i] / apis[i];
    }
    fprintf(stderr, "CPU of a call: %.1f us answered by the client, %.1f us through the API\n",
            load_median(clients, ROUNDS) * 1e6, load_median(apis, ROUNDS) * 1e6);
    printf("inbox.vs_client %.2f\n", load_median(ratios, ROUNDS));
    fflush(stdout);
    mcp_load_close(client);
    mcp_load_close(api);
}

static void show_watched(void)
{
    struct mcp_load *load = open_load(true, PER_SECOND);
    double ratios[WATCHED_ROUNDS], alone[WATCHED_ROUNDS], watched[WATCHED_ROUNDS];

    for (int i = 0; i < WATCHED_ROUNDS; i++) {
        alone[i] = WATCHED_CALLS / mcp_load_calls(load, WATCHED_CALLS);
        struct watchers watchers = watch(server.port);
        watched[i] = WATCHED_CALLS / mcp_load_calls(load, WATCHED_CALLS);
        unwatch(&watchers);
        ratios[i] = watched[i] / alone[i];
    }
    fprintf(stderr, "asks per second: %.0f alone, %.0f with %d streams\n",
            load_median(alone, WATCHED_ROUNDS), load_median(watched, WATCHED_ROUNDS), STREAMS);
    printf("inbox.watched_vs_alone %.2f\n", load_median(ratios, WATCHED_ROUNDS));
    mcp_load_close(load);
}

int main(int argc, char **argv)
{
    char tokens[] = "/tmp/nod-bench-tokens-XXXXXX";
    char http[] = "--http", port[] = "127.0.0.1:0", surfaces[] = "--surfaces",
         both[] = "client,inbox", file[] = "--token-file";
    int fd = mkstemp(tokens);

    if (argc != 2) {
        fprintf(stderr, "usage: bench-inbox SERVER\n");
        return 2;
    }
    if (fd < 0 || dprintf(fd, "%s ada ask answer\n", TOKEN) < 0)
        fail("no token file");
    close(fd);
    load_raise_files();
    server = server_process_start(
        (char *const[]){ argv[1], http, port, surfaces, both, file, tokens, NULL });
    unlink(tokens);
    show_vs_client();
    show_watched();
    server_process_stop(&server);
    return 0;
}
