/*
 * front/signin: sign-ins, by which a browser is a principal, and the one-time links that begin
 * them. Only files of front/ include this.
 *
 * A sign-in is a small record in the store (kind "signin"), and two halves in the browser, of 128
 * random bits each: the cookie, which every port of a host is sent, and the page key, which only
 * pages of our origin have (cookie.c). Each is worth nothing without the other. The record is found
 * by the digest of the page key and has the digest of the cookie, so who reads the store cannot
 * sign in. It says whose it is by the digest of a token, or that it is the local user's;
 * name and roles are what the token file says now. So a token that is taken out of the file ends
 * its sign-ins, for good (sweep.c), and a role that is taken from it is gone at once.
 *
 * A link is such a record too (kind "link"), which is used once: the store replaces the version
 * that was read, or it was used before. All nodes that share a store see the same sign-ins and
 * links; those in memory end with the process.
 *
 * Holds always: what is kept in memory is at most SIGNIN_FRESH_MS old if other nodes could have
 * changed it. A record that was removed is never written again.
 */
#ifndef NOD_FRONT_SIGNIN_H
#define NOD_FRONT_SIGNIN_H

#include "base/id.h"
#include "base/map.h"
#include "crypto/digest.h"
#include "front/front_inside.h"
#include "json/value.h"
#include "json/write.h"

enum {
    SIGNIN_MS = 43200000,      /* how long a sign-in lasts at most: 12 h */
    SIGNIN_IDLE_MS = 3600000,  /* and without being used: 1 h */
    SIGNIN_LINK_MS = 600000,   /* how long a one-time link can be used: 10 min */
    SIGNIN_FRESH_MS = 400,     /* how old may be what is known of a record in a shared store */
    SIGNIN_CACHED_MAX = 10000, /* sign-ins that are known without asking the store */
    SIGNIN_RECORD_MAX = 1024,  /* bytes of a record */
    SIGNIN_MADE_MAX = 60,      /* sign-ins and links of one token in a minute, on a node */
    SIGNIN_MAKERS_MAX = 10000, /* tokens that have made some in this minute */
    SIGNIN_WRITTEN_PART = 60,  /* a use is written when a 60th of the idle time has passed */
    SIGNIN_WATCH_MS = 250,     /* between two looks at the credentials of open streams */
};

/* Whose a sign-in or a link is. */
enum holder_kind {
    HOLDER_TOKEN, /* the owner of a token */
    HOLDER_LOCAL, /* the local user, who came over the Unix socket */
    HOLDER_START, /* the local user, by the link of the start; counts only without tokens */
};

struct holder {
    enum holder_kind kind;
    struct digest token; /* HOLDER_TOKEN */
    size_t name_len;
    char name[TOKENS_NAME_MAX];
};

struct signin {
    struct digest digest; /* of its page key; the key in the map */
    struct digest cookie; /* of what is in its cookie */
    struct list by_use;   /* the one used last is last */
    struct holder holder;
    int64_t until_ms;   /* wall time of its end, whatever happens */
    int64_t written_ms; /* wall time of the last use that is in the record */
    int64_t checked_ms; /* loop time when the record was last seen */
    uint64_t version;   /* of the record */
    size_t watched;     /* how many streams are open with it */
    bool writing;
    bool checking;
};

/* The look for those whose token is gone: sweep.c. */
struct sweep {
    struct timer again;
    size_t kind;     /* of the records that are looked at */
    size_t count;    /* how many have ended */
    size_t removing; /* and are still being removed */
    bool looked;     /* at everything */
    bool failed;     /* the store did */
    bool busy;
    bool stale; /* the token file was read again meanwhile */
};

struct signins {
    struct front_signin_opts times;
    struct map by_digest; /* struct signin */
    struct list by_use;
    struct list ops; /* struct signin_op: operations of the store that are under way */
    struct map made; /* token or name -> struct maker: who has made how many in this minute */
    int64_t made_from;
    struct timer look;   /* at what is watched */
    struct list watches; /* struct front_watch */
    uint64_t removals;   /* how many were removed here, ever */
    struct sweep sweep;
};

/* --- signin.c --- */

/* Something that waits for the store. It is freed with the front if the store never answers. */
struct signin_op {
    struct list link;
    struct front *front;
    struct http_exchange *exchange;  /* NULL: its client is gone, or there is none */
    const struct http_request *http; /* as long as the exchange is there */
    const struct route *route;
    struct digest digest; /* of the record */
    struct digest cookie_digest;
    struct holder holder;
    struct id secret;  /* by which the record is found: in the link, or the page key */
    struct id cookie;  /* of a sign-in that is made */
    uint64_t removals; /* of the sign-ins, when it was sent */
    int64_t until_ms;
    void (*done)(struct signin_op *op, nod_status status); /* it frees the operation */
    void (*told)(void *data, struct str url);
    void *data;
};

struct signin_op *signin_op_new(struct front *front, struct http_exchange *exchange,
                                const struct http_request *http);
/* If the client is still there, its exchange is the caller's again. */
void signin_op_free(struct signin_op *op);

bool signins_open(struct front *front, const struct front_signin_opts *opts);
void signins_close(struct front *front);
struct store *signin_store(const struct front *front);
int64_t signin_now(const struct front *front);

/* Who that is now; NULL: nobody any more. */
const struct principal *holder_principal(const struct front *front, const struct holder *holder);
/* Whose bytes its record counts; empty: the holder is not known any more. */
struct str signin_whose(const struct signin_op *op);
/* Was its token taken out of the token file, or given to somebody else? */
bool holder_is_lost(const struct front *front, const struct holder *holder);
void holder_set(struct holder *holder, enum holder_kind kind, const struct digest *token,
                struct str name);
void holder_write(struct json_writer *w, const struct holder *holder);
bool holder_read(const struct json *record, struct holder *holder);

/* The sign-in, if it is known here and nobody else can have ended it; NULL: ask the store. */
struct signin *signin_known(struct front *front, const struct digest *digest);
/* Reads the record of op->digest. NOD_OK: signin_known gives it now. NOD_E_NOT_FOUND: there is
 * none, or it has ended. */
void signin_fetch(struct signin_op *op);
/* For op->holder; op->secret is its page key, op->cookie what goes into the cookie. NOD_E_LIMIT:
 * too many. */
void signin_make(struct signin_op *op);
/* It was used now. */
void signin_use(struct front *front, struct signin *signin);
/* Removes the record of op->digest. */
void signin_remove(struct signin_op *op);
/* It is not known any more, and its watches have ended. */
void signin_forget(struct front *front, struct signin *signin, struct str why);
/* May this principal make one more sign-in or link? */
bool signin_may_make(struct front *front, const struct holder *holder);

/* --- signin_link.c --- */

/* For op->holder; the link is /login/{op->secret}. */
void signin_link_make(struct signin_op *op);
/* op->secret is what was in the link. NOD_OK: it was used now, and op->holder is whose it is.
 * NOD_E_STALE: it was used before. NOD_E_NOT_FOUND: there is none, or no longer. */
void signin_link_use(struct signin_op *op);
/* The same without using it. */
void signin_link_look(struct signin_op *op);

/* --- cookie.c --- */

/* Has the request a cookie of our name with this digest, among however many? NULL: any. */
bool cookie_has(const struct front *front, const struct http_request *http,
                const struct digest *digest);
/* The page key that the request brings; empty: none. */
struct str cookie_page_key(const struct http_request *http);
/* The value of a Set-Cookie header; without a secret it removes the cookie. */
struct str cookie_line(const struct front *front, struct str secret, struct arena *arena);
/* Does the request come from a page of ours? */
bool cookie_origin_ok(const struct front *front, const struct http_request *http);

/* --- enter.c: requests with a cookie --- */

extern const struct principal enter_by_cookie; /* as the mark of such a request */
void enter(struct front *front, struct http_exchange *exchange, const struct http_request *http);

/* --- sweep.c --- */

void sweep_close(struct front *front);

/* --- watch.c --- */

extern const struct str watch_lost; /* why it ended: the token, or a role */

/* Ends those of a sign-in. */
void watches_end(struct front *front, const struct signin *signin, struct str why);

/* --- login.c --- */

bool login_open(struct front *front);

#endif
