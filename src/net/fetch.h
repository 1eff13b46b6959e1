/*
 * net/fetch: HTTP requests to elsewhere.
 *
 * A fetcher holds libcurl's multi handle and runs it on the loop. A fetch is one request: it is
 * begun, and done() is told how it went, later and exactly once, unless it was cancelled before.
 *
 * What always holds, whatever the URL and whoever answers: only http and https; no redirect is
 * followed and no proxy of the environment is used; the address that is connected to is judged by
 * net/reach, each time; certificates are checked; a response is read up to a limit; the whole takes
 * no longer than its time. Names are looked up on libuv's threads, never on the loop.
 */
#ifndef NOD_NET_FETCH_H
#define NOD_NET_FETCH_H

#include "net/http.h"
#include "net/loop.h"
#include "net/reach.h"

enum {
    FETCH_AT_ONCE_MAX = 256,    /* fetches of one fetcher that are under way */
    FETCH_HEADERS_MAX = 16,     /* headers of a request */
    FETCH_HEAD_MAX = 64 * 1024, /* bytes of the head of a response */
    FETCH_BODY_MAX = 64 * 1024, /* bytes of the body of a response, if nothing else is said */
    FETCH_MS = 10000,           /* time for the whole, if nothing else is said */
    FETCH_WHY_MAX = 256,        /* bytes of a message */
};

struct fetcher;
struct fetch;

enum fetch_end {
    FETCH_DONE,      /* there is a response, with whatever status */
    FETCH_FAILED,    /* there is none: no such name, no connection, a certificate, ... */
    FETCH_REFUSED,   /* the address may not be reached (net/reach) */
    FETCH_TOO_LATE,  /* the time was over */
    FETCH_TOO_LARGE, /* the response is larger than it may be */
};

struct fetch_result { /* valid during done() */
    enum fetch_end end;
    /* Of the response; 0: there was none. A redirect is a response like any other. */
    int status;
    struct str body; /* with FETCH_DONE */
    struct str why;  /* otherwise: what was wrong, for people */
    /* With FETCH_REFUSED: the target as an operator names it (reach_allow). */
    struct str allow;
};

/* May begin and cancel fetches. Must not destroy the fetcher. */
typedef void fetch_done(void *data, const struct fetch_result *result);

struct fetch_opts {    /* copied */
    struct str method; /* empty: GET */
    struct str url;
    const struct http_header *headers;
    size_t header_count;
    struct str body;    /* sent if it is not empty */
    size_t body_max;    /* of the response; 0: FETCH_BODY_MAX */
    int64_t timeout_ms; /* 0: FETCH_MS */
};

struct fetcher_opts {
    const struct reach *reach; /* targets that an operator has named; outlives the fetcher */
    const char *ca_file;       /* authorities; NULL: the system's */
    bool forgets; /* nothing of a response is left when none is under way: no connection is kept */
};

/* NULL, logged: libcurl cannot be used. */
struct fetcher *fetcher_create(struct loop *loop, const struct fetcher_opts *opts);
/* Cancels what is under way. NULL is fine. Before the loop is destroyed. */
void fetcher_destroy(struct fetcher *fetcher);

/* Is this a URL that a fetch takes? If not, *why says what is wrong with it. */
bool fetch_url_fits(struct str url, const char **why);
/* Is the host of such a URL an address that may not be reached? Then *peer and *port say which. A
 * name is looked up, and judged, only when a connection is made. */
bool fetch_url_is_barred(struct str url, const struct reach *reach, struct peer *peer, int *port);

/* NULL: the URL does not fit, a header cannot be sent, or too many are under way; done() is not
 * called then. */
struct fetch *fetch_begin(struct fetcher *fetcher, const struct fetch_opts *opts, fetch_done *done,
                          void *data);
/* done() is not called any more. */
void fetch_cancel(struct fetch *fetch);

#endif
