/*
 * front/front_inside: the front door as the files of front/ see it. No other file includes this.
 *
 * front.c        making it, handing requests to handlers, ending
 * admit.c        what is decided about a request once its head has arrived
 * listen.c       the addresses that the server listens on
 * certificate.c  TLS on them, and reading the certificate again
 * origin.c       the rules for Host and Origin
 * public_url.c   the public address of the server
 * address.c      from which address a request comes
 * cors.c         web pages of other origins
 * routes.c       the table of routes
 * tokens.c       the token file
 * signin.c       sign-ins of browsers, and their records (signin.h)
 * signin_link.c  links that sign in, once
 * cookie.c       the two halves of a sign-in in a browser, and what keeps other pages from using it
 * enter.c        requests with that cookie
 * login.c        signing in and out
 * slow.c         failed attempts to get in
 * watch.c        what is open for long ends with its credential
 * sweep.c        a sign-in whose token is gone ends for good
 * pages.c        what browsers are told with our pages
 * upgrade.c      requests that change to another protocol
 * worker.c       service workers that others have left in a browser
 * health.c       /healthz and /readyz
 * metrics.c      /metrics
 */
#ifndef NOD_FRONT_INSIDE_H
#define NOD_FRONT_INSIDE_H

#include "base/id.h"
#include "base/list.h"
#include "base/map.h"
#include "front/address.h"
#include "front/front.h"
#include "front/origin.h"
#include "front/public_url.h"
#include "front/tokens.h"
#include "net/listener.h"

enum {
    FRONT_BODY_MAX = 4 << 20,       /* bytes of a request's body */
    FRONT_CONNECTIONS_MAX = 20000,  /* fewer if the process may open fewer descriptors */
    FRONT_DESCRIPTORS_MIN = 64,     /* file descriptors left for everything else */
    FRONT_STRANGERS_PART = 16,      /* connections and memory of clients without a token: a 16th */
    FRONT_OWNER_PART = 4,           /* connections and memory of one principal: a quarter */
    FRONT_STRANGER_MS = 10000,      /* for a first head with a token, after accepting */
    FRONT_PREFLIGHT_MAX = 32 << 10, /* bytes of the header names that a web page may send */
    FRONT_REFUSAL_MAX = 8 << 10,    /* bytes of the body of a refusal, or of where a page leads */
    FRONT_LINK_PAGE_MAX = 32 << 10, /* bytes of the page of a one-time link */
    FRONT_PATH_MAX = 16 << 10,      /* bytes of the decoded variables of a path */
    FRONT_TEXTS_MAX = 1 << 20,      /* bytes of all texts of the options */
    FRONT_PROXIES_MAX = 64,         /* trusted proxies, or networks of them */
    FRONT_WEB_HEADERS_MAX = 32,     /* further headers that web pages may send, or read */
};

struct front {
    struct front_opts opts;
    struct arena texts; /* for opts */
    struct routes *routes;
    struct str about; /* what is here, and where: for those who came to the wrong place */
    void (*refusal_draw)(void *data, struct buf *body, int status, struct str why);
    void *refusal_data;
    void (*link_draw)(void *data, struct buf *body, struct str whose);
    void *link_data;
    struct http_server *http; /* NULL once it is closed */
    struct listener *listeners[FRONT_LISTENERS_MAX];
    size_t listener_count;

    struct tls_context *tls; /* NULL: without TLS */

    struct public_url public_url; /* its origin is empty if there is none */
    struct cidr proxies[FRONT_PROXIES_MAX];
    size_t proxy_count;
    struct origin_rules origins;
    struct str own[FRONT_LISTENERS_MAX]; /* the addresses listened on, for the rules */
    const struct str *origin_lines;      /* header lines for each of origins.origins: cors.c */
    struct str sent[FRONT_WEB_HEADERS_MAX];
    size_t sent_count;
    struct str read[FRONT_WEB_HEADERS_MAX];
    size_t read_count;

    /* Valid until the head of the next request is checked. */
    struct buf allowed; /* of a preflight or an Allow header */
    struct buf refusal;

    struct id salt;     /* see front_salt */
    bool worker_logged; /* that a browser has a service worker: worker.c */

    struct signins *signins; /* NULL: nobody signs in here */
    struct slow *slow;       /* who has failed to get in */

    struct buf path; /* the variables of the request that is being handed to its handler */
    bool stopping;
};

/* admit.c: the on_head of the HTTP server; data is the front. */
enum http_verdict gate_head(const struct http_request *http, struct http_ruling *ruling,
                            void *data);

/* The local user, who has every role. */
extern const struct principal admit_local_user;
/* The same without a sign-in, where the link is enough: see route.link. */
extern const struct principal admit_by_link;
/* Is the link of this route enough for this request? */
bool admit_link_ok(struct front *front, const struct http_request *http, const struct route *route);
/* The token of a request; empty: there is none. */
struct str admit_bearer(const struct http_request *http);
/* Each of these makes the ruling an answer, and returns HTTP_ANSWER. The route decides how its
 * clients are told; NULL: there is no such path. */
enum http_verdict admit_refuse(struct front *front, const struct http_request *http,
                               const struct route *path, struct http_ruling *ruling, int status,
                               struct str why);
enum http_verdict admit_no_credential(struct front *front, const struct http_request *http,
                                      const struct route *path, struct http_ruling *ruling,
                                      struct str why);
enum http_verdict admit_no_role(struct front *front, const struct http_request *http,
                                const struct route *route, struct http_ruling *ruling);

/* A token that is not known. */
enum http_verdict admit_unknown_token(struct front *front, const struct http_request *http,
                                      const struct route *path, struct http_ruling *ruling);

/* slow.c */
extern const struct principal slow_refused; /* as the mark of a request whose refusal waits */
void slow_open(struct front *front);
void slow_close(struct front *front);
/* Counts an attempt. How long its refusal is to take, in ms. */
int64_t slow_failed(struct front *front, const struct http_request *http);
/* How many there were. */
uint64_t slow_count(const struct front *front);
/* Answers with the ruling, now or later. */
void slow_answer(struct front *front, struct http_exchange *exchange,
                 const struct http_request *http, const struct http_ruling *ruling,
                 int64_t wait_ms);

/* pages.c */
extern const struct str page_lines; /* header lines of every response of a page and its API */

/* upgrade.c */
/* May this request change to the route's protocol? If not, the ruling is the answer. */
bool upgrade_asked(struct front *front, const struct http_request *http, const struct route *route,
                   struct http_ruling *ruling);

/* worker.c */
/* Does a browser ask for a service worker? Then the ruling is the answer: one that goes. */
bool worker_answer(struct front *front, const struct http_request *http,
                   struct http_ruling *ruling);

/* front.c: gives a request that was let in to its handler. */
void front_hand(struct front_request *request, const struct route *route);

/* cors.c */
bool cors_open(struct front *front);
/* Is it a preflight request? Then the ruling is its answer. */
bool cors_preflight(struct front *front, const struct http_request *http,
                    struct http_ruling *ruling);

/* health.c */
bool health_open(struct front *front);

/* metrics.c */
bool metrics_open(struct front *front);

/* certificate.c */
bool certificate_open(struct front *front);
void certificate_close(struct front *front);
/* The stream to be read from: over TLS, if there is a certificate. */
struct stream *certificate_wrap(struct front *front, struct stream *stream,
                                const struct peer *peer);

/* listen.c */
/* Are both 127.0.0.1 and ::1 this server's at that port? */
bool listeners_hold_localhost(const struct front *front, int port);
void listeners_close(struct front *front);

#endif
