/*
 * net/connect: see connect.h.
 *
 * Each attempt is one object. libuv keeps pointers into it (a lookup, a connection request). So it
 * is freed when the last of them has come back, and done() was called or the attempt was cancelled.
 *
 * Holds always: done() is called from a libuv callback, a timer or a deferred call, never from
 * inside connect_begin. After connect_cancel it is not called at all.
 */
#include "net/connect.h"

#include <stdio.h>
#include <uv.h>

#include "base/mem.h"

enum { PORT_DIGITS_MAX = 8 }; /* bytes of a port as text */

struct connecting {
    struct loop *loop;
    connect_done *done; /* NULL: called, or cancelled */
    void *data;
    struct timer deadline;
    int64_t timeout_ms;
    bool background;
    char *host; /* or the path */
    bool local;
    int port;
    uv_getaddrinfo_t lookup;
    uv_connect_t request;
    struct addrinfo *addresses;
    const struct addrinfo *next;
    struct stream *stream; /* being connected */
    int error;             /* of the newest try */
    int away;              /* callbacks still to come: lookup, request, deferred call */
};

static void release(struct connecting *connecting)
{
    if (connecting->away || connecting->done)
        return;
    if (connecting->addresses)
        uv_freeaddrinfo(connecting->addresses);
    mem_free(connecting->host);
    mem_free(connecting);
}

/* Calls done(), once. */
static void settle(struct connecting *connecting, struct stream *stream, const char *why)
{
    connect_done *done = connecting->done;
    void *data = connecting->data;

    if (!done)
        return;
    connecting->done = NULL;
    timer_stop(connecting->loop, &connecting->deadline);
    done(data, stream, why);
}

static void drop_stream(struct connecting *connecting)
{
    if (connecting->stream)
        stream_close(connecting->stream);
    connecting->stream = NULL;
}

static void fail(struct connecting *connecting)
{
    char why[CONNECT_WHY_MAX];

    snprintf(why, sizeof(why), "%s", uv_strerror(connecting->error));
    settle(connecting, NULL, why);
}

static void try_next(struct connecting *connecting);

static void on_connected(uv_connect_t *request, int status)
{
    struct connecting *connecting = request->data;

    connecting->away--;
    if (connecting->done && status == 0) {
        struct stream *stream = connecting->stream;
        connecting->stream = NULL;
        settle(connecting, stream, NULL);
    } else if (connecting->done) {
        connecting->error = status;
        drop_stream(connecting);
        try_next(connecting);
    }
    release(connecting);
}

/* False: it could not even begin. */
static bool try_address(struct connecting *connecting, const struct sockaddr *address)
{
    uv_stream_t *handle;

    if (stream_unconnected(connecting->loop, false, connecting->background, &connecting->stream,
                           &handle) != NOD_OK) {
        connecting->error = UV_EMFILE;
        return false;
    }
    uv_tcp_nodelay((uv_tcp_t *)handle, 1);
    connecting->error =
        uv_tcp_connect(&connecting->request, (uv_tcp_t *)handle, address, on_connected);
    if (connecting->error == 0) {
        connecting->away++;
        return true;
    }
    drop_stream(connecting);
    return false;
}

static void try_next(struct connecting *connecting)
{
    while (connecting->next) {
        const struct addrinfo *address = connecting->next;
        connecting->next = address->ai_next;
        if (try_address(connecting, address->ai_addr))
            return;
    }
    fail(connecting);
}

static void on_found(uv_getaddrinfo_t *lookup, int status, struct addrinfo *found)
{
    struct connecting *connecting = lookup->data;

    connecting->away--;
    connecting->addresses = found;
    connecting->next = found;
    connecting->error = status ? status : UV_EAI_NONAME;
    if (connecting->done)
        try_next(connecting);
    release(connecting);
}

static void too_late(void *data)
{
    struct connecting *connecting = data;
    char why[CONNECT_WHY_MAX];

    drop_stream(connecting);
    uv_cancel((uv_req_t *)&connecting->lookup);
    snprintf(why, sizeof(why), "no connection within %lld ms", (long long)connecting->timeout_ms);
    settle(connecting, NULL, why);
    release(connecting);
}

static void begin_local(struct connecting *connecting)
{
    uv_stream_t *handle;

    if (stream_unconnected(connecting->loop, true, connecting->background, &connecting->stream,
                           &handle) != NOD_OK) {
        connecting->error = UV_EMFILE;
        fail(connecting);
        return;
    }
    connecting->away++;
    uv_pipe_connect(&connecting->request, (uv_pipe_t *)handle, connecting->host, on_connected);
}

static void begin(void *data)
{
    struct connecting *connecting = data;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    bool begun = true;

    connecting->away--;
    if (!connecting->done) {
        begun = true;
    } else if (connecting->local) {
        begin_local(connecting);
    } else if (uv_ip4_addr(connecting->host, connecting->port, &v4) == 0) {
        begun = try_address(connecting, (const struct sockaddr *)&v4);
    } else if (uv_ip6_addr(connecting->host, connecting->port, &v6) == 0) {
        begun = try_address(connecting, (const struct sockaddr *)&v6);
    } else {
        static const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
        char port[PORT_DIGITS_MAX];

        snprintf(port, sizeof(port), "%d", connecting->port & 0xffff);
        connecting->error = uv_getaddrinfo(loop_uv(connecting->loop), &connecting->lookup, on_found,
                                           connecting->host, port, &hints);
        if (connecting->error == 0)
            connecting->away++;
        else
            fail(connecting);
    }
    if (!begun)
        fail(connecting);
    release(connecting);
}

struct connecting *connect_begin(struct loop *loop, const struct connect_opts *opts,
                                 connect_done *done, void *data)
{
    struct connecting *connecting = MEM_NEW(struct connecting);

    connecting->loop = loop;
    connecting->done = done;
    connecting->data = data;
    connecting->timeout_ms = opts->timeout_ms > 0 ? opts->timeout_ms : CONNECT_MS;
    connecting->background = opts->background;
    connecting->local = opts->path.len > 0;
    connecting->host = str_dup(connecting->local ? opts->path : opts->host);
    connecting->port = opts->port;
    connecting->lookup.data = connecting->request.data = connecting;
    connecting->away = 1;
    timer_set(loop, &connecting->deadline, connecting->timeout_ms, too_late, connecting);
    loop_defer(loop, begin, connecting);
    return connecting;
}

void connect_cancel(struct connecting *connecting)
{
    if (!connecting)
        return;
    connecting->done = NULL;
    timer_stop(connecting->loop, &connecting->deadline);
    drop_stream(connecting);
    uv_cancel((uv_req_t *)&connecting->lookup);
    release(connecting);
}
