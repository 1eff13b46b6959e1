/*
 * net/fetch: see fetch.h. libcurl makes the requests, this file runs it on the loop.
 *
 *     fetch_begin ─▶ looking up ─▶ under way (libcurl has it) ─▶ done()
 *
 * libcurl says which descriptors it waits for (want_socket), each of which has a uv_poll of its
 * own, and when it wants to be called without one (want_timer). It looks up no names: we do, on
 * libuv's threads, so that a cancelled fetch never waits for a name server, and hand it the
 * addresses. may_open then judges each address that it is about to connect to, whatever led there.
 *
 * Holds always: libcurl is not entered from one of its own callbacks, and done() is not called from
 * one. A fetch is in the list of its fetcher until it is done or cancelled; its memory is freed
 * when its lookup has come back as well.
 */
#include "net/fetch.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <uv.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/curl_words.h"
#include "net/fetch_inside.h"

enum {
    HEADER_LINE_MAX = 8192,    /* bytes of a header of a request, with its name */
    ADDRESSES_MAX = 8,         /* addresses of one name that are tried */
    RESOLVE_MAX = 1024,        /* bytes of the name and its addresses, as libcurl takes them */
    IDLE_CONNECTIONS_MAX = 16, /* connections that are kept for the next request */
    METHOD_MAX = 32,           /* bytes of a method */
    TARGET_MORE = 16,          /* bytes of a port, and what is around an address */
};

struct fetcher {
    struct loop *loop;
    CURLM *multi;
    struct timer timer; /* when libcurl wants to be called */
    struct timer idle;  /* nothing is under way: see forget() */
    bool forgets;
    struct list fetches;
    size_t count;
    const struct reach *reach;
    char *ca_file;
};

struct fetch {
    struct fetcher *fetcher; /* NULL: done or cancelled */
    struct list link;
    fetch_done *done;
    void *data;
    CURL *easy;
    CURLU *url;
    struct curl_slist *headers;
    struct curl_slist *addresses; /* what the name stands for, as libcurl takes it */
    struct timer deadline;
    uv_getaddrinfo_t lookup;
    bool looking; /* the lookup has not come back */
    bool added;   /* libcurl has it */
    bool refused; /* an address may not be reached */
    bool large;
    int status;  /* of the response, as far as there is one */
    size_t head; /* bytes of the head so far */
    int64_t timeout_ms;
    struct buf body; /* of the response */
    char *request_body;
    char *host;
    char *port;
    char refused_address[PEER_TEXT_MAX];
    char refused_target[PEER_TEXT_MAX + TARGET_MORE]; /* with its port */
    char why[FETCH_WHY_MAX];
};

struct watched { /* a descriptor that libcurl waits for */
    uv_poll_t poll;
    struct fetcher *fetcher;
    curl_socket_t fd;
};

/* --- the end of a fetch --- */

static void release(struct fetch *fetch)
{
    if (fetch->fetcher || fetch->looking)
        return;
    curl_slist_free_all(fetch->headers);
    curl_slist_free_all(fetch->addresses);
    curl_url_cleanup(fetch->url);
    curl_free(fetch->host);
    curl_free(fetch->port);
    buf_finish(&fetch->body);
    if (fetch->request_body) /* it may hold a token */
        explicit_bzero(fetch->request_body, strlen(fetch->request_body));
    mem_free(fetch->request_body);
    mem_free(fetch);
}

static void forget(void *data);

/* Takes it away from libcurl and from its fetcher. */
static void detach(struct fetch *fetch)
{
    struct fetcher *fetcher = fetch->fetcher;

    timer_stop(fetcher->loop, &fetch->deadline);
    if (fetch->added)
        curl_multi_remove_handle(fetcher->multi, fetch->easy);
    curl_easy_cleanup(fetch->easy);
    fetch->easy = NULL;
    list_remove(&fetch->link);
    if (--fetcher->count == 0 && fetcher->forgets)
        timer_set(fetcher->loop, &fetcher->idle, 0, forget, fetcher);
    fetch->fetcher = NULL;
    if (fetch->looking)
        uv_cancel((uv_req_t *)&fetch->lookup);
}

static void finish(struct fetch *fetch, const struct fetch_result *result)
{
    detach(fetch);
    fetch->done(fetch->data, result);
    release(fetch);
}

/* fetch->why says what was wrong. */
static void fail(struct fetch *fetch, enum fetch_end end)
{
    finish(fetch, &(struct fetch_result){ .end = end,
                                          .status = fetch->status,
                                          .why = str_of(fetch->why),
                                          .allow = str_of(fetch->refused_target) });
}

static void too_late(void *data)
{
    struct fetch *fetch = data;

    bool seconds = fetch->timeout_ms % 1000 == 0;

    snprintf(fetch->why, sizeof(fetch->why), "it did not answer within %lld %s",
             (long long)(seconds ? fetch->timeout_ms / 1000 : fetch->timeout_ms),
             seconds ? "s" : "ms");
    fail(fetch, FETCH_TOO_LATE);
}

void fetch_cancel(struct fetch *fetch)
{
    if (!fetch)
        return;
    detach(fetch);
    release(fetch);
}

/* libcurl is done with it. */
static void transferred(struct fetch *fetch, CURLcode code)
{
    struct fetch_result result = { .end = FETCH_DONE, .body = buf_str(&fetch->body) };
    long status = 0;

    curl_easy_getinfo(fetch->easy, CURLINFO_RESPONSE_CODE, &status);
    fetch->status = (int)status;
    if (code == CURLE_OK) {
        result.status = fetch->status;
        finish(fetch, &result);
    } else if (fetch->large || code == CURLE_FILESIZE_EXCEEDED) {
        snprintf(fetch->why, sizeof(fetch->why), "the response is larger than %zu bytes",
                 fetch->body.limit);
        fail(fetch, FETCH_TOO_LARGE);
    } else if (fetch->refused && code == CURLE_COULDNT_CONNECT) {
        snprintf(fetch->why, sizeof(fetch->why),
                 "%s is not a public address, and is not named as allowed", fetch->refused_address);
        fail(fetch, FETCH_REFUSED);
    } else {
        snprintf(fetch->why, sizeof(fetch->why), "%s", curl_words(fetch->easy, code));
        fail(fetch, FETCH_FAILED);
    }
}

/* --- libcurl on the loop --- */

static void turn(struct fetcher *fetcher, curl_socket_t fd, int what)
{
    enum turn_work before = loop_spend(fetcher->loop, TURN_WEBHOOKS);
    struct loop *loop = fetcher->loop;
    int running, left;
    CURLMsg *message;

    curl_multi_socket_action(fetcher->multi, fd, what, &running);
    while ((message = curl_multi_info_read(fetcher->multi, &left))) {
        void *fetch = NULL;
        if (message->msg != CURLMSG_DONE)
            continue;
        CURLcode code = message->data.result; /* the message goes when the handle does */
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&fetch);
        transferred(fetch, code);
    }
    loop_spend(loop, before);
}

static void on_timer(void *data)
{
    turn(data, CURL_SOCKET_TIMEOUT, 0);
}

static int want_timer(CURLM *multi, long after_ms, void *data)
{
    struct fetcher *fetcher = data;

    (void)multi;
    if (after_ms < 0)
        timer_stop(fetcher->loop, &fetcher->timer);
    else
        timer_set(fetcher->loop, &fetcher->timer, after_ms, on_timer, fetcher);
    return 0;
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    const struct watched *watched = poll->data;
    struct fetcher *fetcher = watched->fetcher;
    struct loop *loop = fetcher->loop;
    int what = status < 0 ? CURL_CSELECT_ERR : 0;

    if (events & UV_READABLE)
        what |= CURL_CSELECT_IN;
    if (events & UV_WRITABLE)
        what |= CURL_CSELECT_OUT;
    clock_hold();
    turn(fetcher, watched->fd, what);
    loop_settle(loop);
    clock_release();
}

static void on_poll_closed(uv_handle_t *handle)
{
    mem_free(handle->data);
}

static struct watched *watch(struct fetcher *fetcher, curl_socket_t fd)
{
    struct watched *watched = MEM_NEW(struct watched);

    watched->fetcher = fetcher;
    watched->fd = fd;
    watched->poll.data = watched;
    if (uv_poll_init_socket(loop_uv(fetcher->loop), &watched->poll, fd) != 0) {
        mem_free(watched);
        return NULL;
    }
    curl_multi_assign(fetcher->multi, fd, watched);
    return watched;
}

static int want_socket(CURL *easy, curl_socket_t fd, int what, void *data, void *of_fd)
{
    struct watched *watched = of_fd;
    int events = 0;

    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (watched) /* the descriptor is closed when this returns */
            uv_close((uv_handle_t *)&watched->poll, on_poll_closed);
        return 0;
    }
    if (!watched)
        watched = watch(data, fd);
    if (!watched)
        return -1;
    if (what & CURL_POLL_IN)
        events |= UV_READABLE;
    if (what & CURL_POLL_OUT)
        events |= UV_WRITABLE;
    return uv_poll_start(&watched->poll, events, on_poll) == 0 ? 0 : -1;
}

/* --- what libcurl asks while it works on a fetch --- */

static curl_socket_t may_open(void *data, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct fetch *fetch = data;

    if (purpose != CURLSOCKTYPE_IPCXN || !reach_permits(fetch->fetcher->reach, &address->addr)) {
        struct peer peer;
        char text[PEER_TEXT_MAX];
        peer_of_address(&address->addr, &peer);
        snprintf(fetch->refused_address, sizeof(fetch->refused_address), STR_FMT,
                 STR_ARG(peer_text(&peer, text)));
        snprintf(fetch->refused_target, sizeof(fetch->refused_target),
                 peer.kind == PEER_IP6 ? "[%s]:%s" : "%s:%s", fetch->refused_address, fetch->port);
        fetch->refused = true;
        return CURL_SOCKET_BAD;
    }
    curl_socket_t fd = socket(address->family, address->socktype, address->protocol);
    if (fd != CURL_SOCKET_BAD)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}

static size_t take_head(char *at, size_t size, size_t count, void *data)
{
    struct fetch *fetch = data;

    (void)at;
    fetch->head += size * count;
    fetch->large |= fetch->head > FETCH_HEAD_MAX;
    return fetch->large ? 0 : size * count;
}

static size_t take_body(char *at, size_t size, size_t count, void *data)
{
    struct fetch *fetch = data;

    if (buf_add(&fetch->body, str_n(at, size * count)))
        return size * count;
    fetch->large = true;
    return 0;
}

/* --- the request --- */

static bool is_line(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.at[i] < ' ')
            return false;
    return true;
}

static bool add_header(struct fetch *fetch, const char *line)
{
    struct curl_slist *longer = curl_slist_append(fetch->headers, line);

    if (longer)
        fetch->headers = longer;
    return longer != NULL;
}

static bool set_headers(struct fetch *fetch, const struct fetch_opts *opts)
{
    char line[HEADER_LINE_MAX];

    if (opts->header_count > FETCH_HEADERS_MAX || !add_header(fetch, "Expect:"))
        return false;
    for (size_t i = 0; i < opts->header_count; i++) {
        const struct http_header *header = &opts->headers[i];
        if (!is_line(header->name) || !is_line(header->value) ||
            header->name.len + header->value.len + 3 > sizeof(line))
            return false;
        snprintf(line, sizeof(line), STR_FMT ": " STR_FMT, STR_ARG(header->name),
                 STR_ARG(header->value));
        if (!add_header(fetch, line))
            return false;
    }
    return curl_easy_setopt(fetch->easy, CURLOPT_HTTPHEADER, fetch->headers) == CURLE_OK;
}

static bool set_method(struct fetch *fetch, const struct fetch_opts *opts)
{
    CURL *easy = fetch->easy;
    char method[METHOD_MAX];
    bool fine = true;

    if (opts->method.len >= sizeof(method) || !is_line(opts->method))
        return false;
    if (opts->body.len) {
        fetch->request_body = str_dup(opts->body);
        fine = curl_easy_setopt(easy, CURLOPT_POSTFIELDS, fetch->request_body) == CURLE_OK &&
               curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)opts->body.len) ==
                   CURLE_OK;
    }
    if (fine && opts->method.len) {
        snprintf(method, sizeof(method), STR_FMT, STR_ARG(opts->method));
        fine = curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method) == CURLE_OK;
    }
    return fine;
}

/* What holds for every request: see fetch.h. */
static bool set_rules(struct fetch *fetch)
{
    const char *ca_file = fetch->fetcher->ca_file;
    CURL *easy = fetch->easy;
    bool fine = true;

#define SET(option, value) (fine = fine && curl_easy_setopt(easy, (option), (value)) == CURLE_OK)
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_PROXY, "");
    SET(CURLOPT_NOPROXY, "*");
    SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(CURLOPT_HTTP09_ALLOWED, 0L);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_OPENSOCKETFUNCTION, may_open);
    SET(CURLOPT_OPENSOCKETDATA, fetch);
    SET(CURLOPT_HEADERFUNCTION, take_head);
    SET(CURLOPT_HEADERDATA, fetch);
    SET(CURLOPT_WRITEFUNCTION, take_body);
    SET(CURLOPT_WRITEDATA, fetch);
    SET(CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)fetch->body.limit);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)fetch->timeout_ms);
    SET(CURLOPT_SSL_VERIFYPEER, 1L);
    SET(CURLOPT_SSL_VERIFYHOST, 2L);
    SET(CURLOPT_PRIVATE, fetch);
    SET(CURLOPT_CURLU, fetch->url);
    if (ca_file) {
        SET(CURLOPT_CAINFO, ca_file);
        SET(CURLOPT_CAPATH, NULL);
    }
#undef SET
    return fine && fetch_wiped_tls(easy);
}

/* --- from the name to its addresses --- */

static bool launch(struct fetch *fetch)
{
    fetch->added = curl_multi_add_handle(fetch->fetcher->multi, fetch->easy) == CURLM_OK;
    return fetch->added;
}

/* "+name:port:address,address": the name stands for these until the next lookup. */
static bool set_addresses(struct fetch *fetch, const struct addrinfo *found)
{
    struct buf text;
    int count = 0;

    buf_init(&text, RESOLVE_MAX);
    buf_fmt(&text, "+%s:%s:", fetch->host, fetch->port);
    for (; found && count < ADDRESSES_MAX; found = found->ai_next) {
        char address[PEER_TEXT_MAX];
        struct peer peer;
        peer_of_address(found->ai_addr, &peer);
        if (peer.kind == PEER_UNKNOWN)
            continue;
        bool six = peer.kind == PEER_IP6;
        buf_fmt(&text, "%s%s" STR_FMT "%s", count++ ? "," : "", six ? "[" : "",
                STR_ARG(peer_text(&peer, address)), six ? "]" : "");
    }
    bool fine = count > 0 && buf_add_char(&text, '\0');
    if (fine)
        fetch->addresses = curl_slist_append(NULL, text.at);
    buf_finish(&text);
    return fine && fetch->addresses &&
           curl_easy_setopt(fetch->easy, CURLOPT_RESOLVE, fetch->addresses) == CURLE_OK;
}

static void on_found(uv_getaddrinfo_t *lookup, int status, struct addrinfo *found)
{
    struct fetch *fetch = lookup->data;

    fetch->looking = false;
    if (!fetch->fetcher) {
        release(fetch);
    } else if (status != 0) {
        snprintf(fetch->why, sizeof(fetch->why), "%s", lookup_words(status));
        fail(fetch, FETCH_FAILED);
    } else if (!set_addresses(fetch, found) || !launch(fetch)) {
        snprintf(fetch->why, sizeof(fetch->why), "the name has no address that can be used");
        fail(fetch, FETCH_FAILED);
    }
    uv_freeaddrinfo(found);
}

static bool is_address(const char *host)
{
    struct str text = str_of(host);
    struct peer peer;

    return (text.len && text.at[0] == '[') || peer_parse(text, &peer);
}

static bool look_up(struct fetch *fetch)
{
    static const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };

    fetch->lookup.data = fetch;
    fetch->looking = uv_getaddrinfo(loop_uv(fetch->fetcher->loop), &fetch->lookup, on_found,
                                    fetch->host, fetch->port, &hints) == 0;
    return fetch->looking;
}

/* --- fetches --- */

static bool prepare(struct fetch *fetch, const struct fetch_opts *opts)
{
    const char *why;

    fetch->url = fetch_url_parse(opts->url, &why);
    fetch->easy = curl_easy_init();
    return fetch->url && fetch->easy &&
           curl_url_get(fetch->url, CURLUPART_HOST, &fetch->host, 0) == CURLUE_OK &&
           curl_url_get(fetch->url, CURLUPART_PORT, &fetch->port, CURLU_DEFAULT_PORT) ==
               CURLUE_OK &&
           set_rules(fetch) && set_headers(fetch, opts) && set_method(fetch, opts);
}

struct fetch *fetch_begin(struct fetcher *fetcher, const struct fetch_opts *opts, fetch_done *done,
                          void *data)
{
    struct fetch *fetch;

    if (fetcher->count == FETCH_AT_ONCE_MAX)
        return NULL;
    fetch = MEM_NEW(struct fetch);
    fetch->fetcher = fetcher;
    fetch->done = done;
    fetch->data = data;
    fetch->timeout_ms = opts->timeout_ms > 0 ? opts->timeout_ms : FETCH_MS;
    buf_init(&fetch->body, opts->body_max ? opts->body_max : FETCH_BODY_MAX);
    buf_wiped(&fetch->body, true); /* it may hold a token */
    list_append(&fetcher->fetches, &fetch->link);
    fetcher->count++;
    if (!prepare(fetch, opts) || !(is_address(fetch->host) ? launch(fetch) : look_up(fetch))) {
        fetch_cancel(fetch);
        return NULL;
    }
    timer_set(fetcher->loop, &fetch->deadline, fetch->timeout_ms, too_late, fetch);
    return fetch;
}

/* --- the fetcher --- */

static CURLM *multi_open(struct fetcher *fetcher)
{
    CURLM *multi = curl_multi_init();

    if (!multi)
        return NULL;
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, want_socket);
    curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, fetcher);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, want_timer);
    curl_multi_setopt(multi, CURLMOPT_TIMERDATA, fetcher);
    curl_multi_setopt(multi, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)IDLE_CONNECTIONS_MAX);
    return multi;
}

/* Newer versions of libcurl read into a buffer that lives as long as the multi handle, and a kept
 * connection has buffers of its own. */
static void forget(void *data)
{
    struct fetcher *fetcher = data;
    CURLM *fresh = fetcher->count ? NULL : multi_open(fetcher);

    if (!fresh)
        return;
    curl_multi_cleanup(fetcher->multi);
    timer_stop(fetcher->loop, &fetcher->timer);
    fetcher->multi = fresh;
}

struct fetcher *fetcher_create(struct loop *loop, const struct fetcher_opts *opts)
{
    struct fetcher *fetcher = MEM_NEW(struct fetcher);

    fetcher->loop = loop;
    /* Counted by libcurl: each fetcher has its own, and gives it back. */
    if (!fetch_wiped_init() || !(fetcher->multi = multi_open(fetcher))) {
        LOG_ERROR("libcurl cannot be used");
        mem_free(fetcher);
        return NULL;
    }
    fetcher->forgets = opts->forgets;
    fetcher->reach = opts->reach;
    fetcher->ca_file = opts->ca_file ? str_dup(str_of(opts->ca_file)) : NULL;
    list_init(&fetcher->fetches);
    return fetcher;
}

void fetcher_destroy(struct fetcher *fetcher)
{
    if (!fetcher)
        return;
    LIST_EACH (at, &fetcher->fetches)
        fetch_cancel(LIST_OF(at, struct fetch, link));
    curl_multi_cleanup(fetcher->multi); /* closes connections that are kept: want_socket is told */
    timer_stop(fetcher->loop, &fetcher->timer);
    timer_stop(fetcher->loop, &fetcher->idle);
    curl_global_cleanup();
    mem_free(fetcher->ca_file);
    mem_free(fetcher);
}
