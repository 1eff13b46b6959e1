/*
 * front: the front door of a server that speaks HTTP.
 *
 * It owns the listeners and the table of routes. It checks every request once its head has arrived,
 * before a byte of its body is kept: may it come from there (Host, Origin), does the path exist,
 * who is it, does the path have this method, may this principal use it? Requests that pass go to
 * the handler of their route. No other module listens, reads a token or looks at Origin.
 *
 * A module that serves something adds its routes before the first request can come:
 *
 *     static void hello(const struct front_request *request, void *data)
 *     {
 *         http_reply(request->exchange, 200, NULL, 0, front_var(request, STR("name")));
 *     }
 *     front_route(front, &(struct route){ .method = STR("GET"), .pattern = STR("/hello/{name}"),
 *                                         .who = ROLE_ASK, .handle = hello });
 */
#ifndef NOD_FRONT_FRONT_H
#define NOD_FRONT_FRONT_H

#include "base/list.h"
#include "crypto/digest.h"
#include "front/routes.h"
#include "net/http.h"
#include "net/peer.h"

struct engine;
struct front;
struct signin; /* front/signin.h: a browser that has signed in */
struct tokens; /* front/tokens.h: bearer tokens and their principals */

enum { FRONT_LISTENERS_MAX = 16 }; /* addresses that one server listens on */

struct front_opts {
    struct loop *loop;
    struct engine *engine;       /* /readyz says whether its store works; NULL: there is no store */
    const struct tokens *tokens; /* NULL: loopback only, as the local user. Outlives the front */
    const char *const *allowed_hosts;   /* further Host names, NULL-terminated, or NULL */
    const char *const *allowed_origins; /* the same for Origins */
    const char *public_url;             /* links are made from it; NULL: from where it listens */
    const char *const *trusted_proxies; /* addresses and networks; NULL-terminated, or NULL */
    const char *tls_cert;               /* a file; NULL: no TLS. Outlives the front */
    const char *tls_key;                /* the same; NULL: the key is in tls_cert */
    bool links_on_hangup;               /* SIGHUP makes another link to the inbox */
};

/* What a handler is given. Valid until it returns; the exchange until it is answered. */
struct front_request {
    struct front *front;
    struct http_exchange *exchange;
    const struct http_request *http; /* see net/http.h; without a body on a route for anyone */
    struct str principal;            /* whose request it is; empty on a route for anyone */
    role_set roles;                  /* of the principal */
    bool by_link;                    /* nobody has signed in: see route.link */
    bool half;                       /* and half of a sign-in came with it: FRONT_HALF */
    struct signin *session;          /* both halves of which it came with; NULL: none */
    struct route_vars vars;
};

/* The decoded value of a variable of the route's pattern; empty if it has no such variable. */
struct str front_var(const struct front_request *request, struct str name);

/* What let this request in, as a digest: that of its sign-in, or of its token; the same for all
 * that came with neither. */
void front_credential(const struct front_request *request, struct digest *digest);

/* 128 random bits of this front door as text, for addresses that nobody could know before. */
struct str front_salt(const struct front *front);

/* The address of the client: the peer's, or what a trusted proxy says (front/address). */
void front_client(const struct front_request *request, struct peer *client);

/* --- signing in: the inbox --- */

/* What is said, with 403, to whoever sends the cookie of a sign-in and not its page key. */
#define FRONT_HALF                                                                                 \
    STR("Half of the sign-in is missing: this came with its cookie, and not the page key (the "    \
        "header X-Page-Key), which only pages of this server have. Sign in again.")

/* How long things last, in ms; 0: as in front/signin.h. */
struct front_signin_opts {
    int64_t session_ms; /* a sign-in, at most */
    int64_t idle_ms;    /* and without being used */
    int64_t link_ms;    /* a one-time link */
};
/* From now on cookies count where a route says so, and there are the routes of signing in and out
 * (front/login.c). The engine is needed, for its store. */
bool front_sign_in(struct front *front, const struct front_signin_opts *opts);
/* The token file was read again: sign-ins and links of tokens that are gone end for good. */
void front_tokens_read(struct front *front);
/* Makes a one-time link for the local user, which works only without tokens. `told` is given its
 * address later, or nothing if the store failed. */
void front_start_link(struct front *front, void (*told)(void *data, struct str url), void *data);

/* How somebody gets a link to this very server, as the end of a sentence. */
struct str front_way_in(const struct front *front);

/*
 * What is open for long, such as an event stream, embeds one. ended(why) is called once, within a
 * second, if the request's credential no longer counts: signed out, expired, somebody else's now,
 * or without one of the roles it had. The watch is over by then. Only with front_sign_in.
 */
struct front_watch {
    struct list link;
    struct front *front; /* NULL: it is over */
    struct signin *signin;
    struct digest token;
    bool local;
    struct str principal; /* as long as the tokens: front/tokens.h */
    role_set roles;
    struct str why;
    void (*ended)(void *data, struct str why);
    void *data;
};
void front_watch(const struct front_request *request, struct front_watch *watch,
                 void (*ended)(void *data, struct str why), void *data);
/* Also if it is over already, or zeroed. */
void front_unwatch(struct front_watch *watch);

/*
 * Takes the request of a route with `upgrade` over, as the stream of another protocol: 101, with
 * further headers. Everything was checked: where it comes from, who it is, and that it asks for
 * this protocol. See http_upgrade. What lasts as long as the credential: front_watch.
 */
struct stream *front_upgrade(const struct front_request *request, const struct http_header *headers,
                             size_t header_count);

/* A refusal as application/problem+json. */
#define FRONT_PROBLEM_TYPE STR("application/problem+json")
void front_problem(struct buf *body, int status, struct str why);

/* NULL, logged: an option cannot be used. /healthz and /readyz are added already. */
struct front *front_create(const struct front_opts *opts);
/* Closes it if that has not been done, and frees it: after the store is destroyed, or when nothing
 * of a sign-in is under way in it. */
void front_destroy(struct front *front);

/* False, logged: the route cannot be added. */
bool front_route(struct front *front, const struct route *route);
/* A sentence for those who come to the wrong path, or with the wrong method: what is here, and
 * where. It is constant. */
void front_about(struct front *front, struct str about);
/* People who look with a browser are refused with a page, which `draw` writes. NULL: they are
 * refused in text. */
void front_refuse_with(struct front *front,
                       void (*draw)(void *data, struct buf *body, int status, struct str why),
                       void *data);
/* One-time links are opened on a page, which `draw` writes: whose sign-in the link is. */
void front_links_with(struct front *front,
                      void (*draw)(void *data, struct buf *body, struct str whose), void *data);
/*
 * For web pages of allowed origins: further headers that they may send, by name or as a prefix with
 * a star ("Mcp-Param-*"), NULL-terminated; and one that they may read.
 */
void front_web_headers(struct front *front, const char *const *sent, const char *read);

/* False, logged: it is a non-loopback address, and there are no tokens. */
bool front_may_listen(const struct front *front, struct str host);
/* `host` as in net/listener.h. NOD_E_REFUSED: a non-loopback address without tokens. Failures are
 * logged. May be called several times. */
nod_status front_listen(struct front *front, struct str host, int port);
/* The port of listener number `which`, in the order of front_listen, from 0; 0: there is none. */
int front_port(const struct front *front, size_t which);

/*
 * The address of one of our paths ("/inbox") for somebody elsewhere, in the arena. It is made from
 * the public URL or, without one, from the first address listened on. Never from what a request
 * says.
 */
struct str front_link(const struct front *front, struct str path, struct arena *arena);
/* Other machines reach this server, and its links lead to localhost: nobody has told it under which
 * name it is reached. */
bool front_links_lead_here_only(const struct front *front);
/* Can anybody follow a link? Not if the server listens on a Unix socket alone, without a public
 * URL. */
bool front_is_linked(const struct front *front);
/* The first Unix socket listened on, as "unix:PATH"; empty: none. */
struct str front_socket(const struct front *front);
/* Do links begin with https? Then cookies are for such connections only. */
bool front_is_secure(const struct front *front);

/* Do the TCP listeners speak TLS? */
bool front_has_tls(const struct front *front);
/* Reads the certificate and its key (NULL: it is in the same file) from now on from these files,
 * whose names have to stay, for connections that come. False, logged: they cannot be used, and
 * nothing has changed. */
bool front_reload(struct front *front, const char *cert, const char *key);
/* Could they be used? */
bool front_reload_fits(struct front *front, const char *cert, const char *key);

/* Are there tokens, and so other principals than the local user? */
bool front_has_tokens(const struct front *front);
/* Can this principal come in with one of these roles? The local user has all of them, everybody
 * else those of their tokens, as the file says now. */
bool front_has_role(const struct front *front, struct str principal, role_set wanted);

/* Sends what was written in this turn of the loop now: http_flush. */
void front_flush(struct front *front);
/* The server is about to stop: it is no longer ready. Requests are still served. */
void front_stopping(struct front *front);
/* No new connections. done() when the last response is sent, or after grace_ms: http_drain. */
void front_drain(struct front *front, int grace_ms, void (*done)(void *data), void *data);
/* Closes everything now; owners of open exchanges are told. No route is called any more. */
void front_close(struct front *front);

#endif
