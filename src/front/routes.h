/*
 * front/routes: the table of routes: (method, path pattern) to handler, and who may use it.
 *
 * A pattern is a path of segments: literal ones, `{name}` for any one segment that is not empty,
 * and at the end `{name...}` for the whole rest, which may have slashes or be empty:
 *
 *     /mcp     /asks/{id}     /asks/{id}/answer     /assets/{file...}
 *
 * If several patterns fit a path, the more literal one, read from the left, is taken. The same
 * method with patterns of the same shape cannot be added twice. Paths are compared as they were
 * sent, byte by byte: an encoded slash does not end a segment. The values of variables are decoded.
 */
#ifndef NOD_FRONT_ROUTES_H
#define NOD_FRONT_ROUTES_H

#include "base/arena.h"
#include "base/buf.h"
#include "core/roles.h"

struct front_request;

enum {
    ROUTES_MAX = 256,         /* routes of one server */
    ROUTES_PATTERN_MAX = 256, /* bytes of a pattern */
    ROUTES_SEGMENTS_MAX = 16, /* segments of a pattern */
    ROUTES_VARS_MAX = 8,      /* variables of a pattern */
    ROUTES_METHOD_MAX = 16,   /* bytes of a method */
};

struct route {
    struct str method;  /* "GET", "POST", ...; a route for GET also serves HEAD */
    struct str pattern; /* see above */
    role_set who;       /* a principal needs one of these roles */
    bool anyone;        /* instead of .who: even without a token */
    bool endless;       /* a GET whose response may never end: HEAD is not served */
    bool wiped;         /* bodies may hold what nobody may see: see http_ruling.wiped */
    /* The protocol that a GET of it changes to, a constant: front/upgrade.c refuses other requests
     * (426, 400), and `handle` may take this one over with front_upgrade. HEAD is not served. */
    struct str upgrade;
    bool any_host; /* with tokens, whatever the Host header says: for probes */
    /*
     * For the inbox. `credential`: loopback is not enough; it takes a token, or the Unix socket as
     * the server's own user. `cookie`: the same, and a sign-in of a browser counts as well; front/
     * checks both of its halves (front/cookie.c) and the Origin of changes. `fetch_site`: refuses
     * what a browser says was sent by another site. `page`: people look at it. A navigation brings
     * no page key, so a page is for anyone and says nothing of anybody; its script asks.
     * `link`: with `cookie`; the address itself is secret. It is enough for a process of the
     * server's own user that comes over loopback without any credential: the handler is given the
     * local user, and front_request.by_link. With any of them each response has the headers that
     * protect a page (front/pages.c).
     */
    bool credential, cookie, fetch_site, page, link;
    void (*handle)(const struct front_request *request, void *data);
    /* Writes the body of a refusal as this route's clients expect it; NULL: {"error": why}, and
     * for the inbox application/problem+json. */
    void (*refused)(struct buf *body, int status, struct str why);
    void *data;
};

struct route_var {
    struct str name;
    struct str value; /* decoded */
};

struct route_vars {
    struct route_var at[ROUTES_VARS_MAX];
    size_t count;
};

/* What the table says of a request. */
struct routes_found {
    const struct route *route; /* the one that serves it; NULL: there is none */
    const struct route *path;  /* a route with this path, whatever its method; NULL: unknown path */
    bool guarded; /* `route`, or without one some route of this path, is not for anyone */
};

struct routes;

struct routes *routes_create(void);
void routes_destroy(struct routes *routes);
/* Copies the route. False, and a message: it cannot be added. */
bool routes_add(struct routes *routes, const struct route *route, const char **why);
void routes_find(const struct routes *routes, struct str method, struct str path,
                 struct routes_found *found);
/* The methods of a path, as in an Allow header: "GET, HEAD, POST". */
void routes_allow(const struct routes *routes, struct str path, struct buf *out);
/*
 * The variables of a path that the route fits, decoded into `text`, into which they point. False:
 * one of them is badly encoded, or contains a NUL.
 */
bool routes_vars(const struct route *route, struct str path, struct buf *text,
                 struct route_vars *vars);

#endif
