/*
 * surface/hosted: pages of this server that one ask is answered on, for URL mode.
 *
 * The client is given a link, /a/{token}, and the person answers in a browser. So nothing that they
 * enter passes through the client. The page there is the same for everybody; what it shows, its
 * script asks for at /a/{token}/data. The token (crypto/page_token.h) says which ask it is, and is
 * no sign-in: it is shown to the principal that the ask was put to, who has signed in as for the
 * inbox. There is one exception. Over loopback, for a process of the server's own user, the link is
 * enough, if data or a secret is asked for; it never is for consent.
 *
 * Opening a page uses nothing up, so previews and reloads do no harm. A valid submission answers
 * the ask (ask_page_answer), once; whoever opens the link later sees how it ended.
 *
 * What a page shows and does depends on its kind: each is a struct hosted_kind in a file of its
 * own, and a row of core/pages.h.
 */
#ifndef NOD_SURFACE_HOSTED_H
#define NOD_SURFACE_HOSTED_H

#include "base/list.h"
#include "core/catalog.h"
#include "core/engine.h"
#include "crypto/seal.h"
#include "front/front.h"
#include "json/write.h"

enum {
    HOSTED_VISITS_MAX = 256,       /* requests for pages whose browsers wait */
    HOSTED_VISITS_OF_ONE = 32,     /* requests of one person that are under way */
    HOSTED_ARENA_MAX = 16 << 20,   /* memory of one of them */
    HOSTED_VALUES_MAX = 20000,     /* JSON values of a body */
    HOSTED_REPLY_MAX = 1 << 20,    /* bytes of what a page is told */
    HOSTED_MESSAGE_MAX = 32 << 10, /* bytes of a message that are shown; no question has more */
    HOSTED_QUERY_MAX = 32,         /* members of a query that a foreign page sends back */
    HOSTED_STATE_MAX = 1024,       /* bytes of the state that it is given */
    HOSTED_TIE_LEN = 22,           /* bytes of half a digest as base64url */
    HOSTED_URL_MAX = 8 << 10,      /* bytes of the address that a browser is sent to */
};

struct hosted;
struct accounts;

struct hosted_opts {
    struct engine *engine;
    const struct catalog *catalog;
    struct front *front;
    struct accounts *accounts; /* accounts that people connect; outlives this */
    struct keyring *ring;   /* seals the tokens; taken over. NULL: a random one for this process */
    struct str name, title; /* of the server; they outlive this */
};

/* Adds the routes to the front door, before it listens. NULL, logged: it cannot be added. */
struct hosted *hosted_create(const struct hosted_opts *opts);
/* The front door listens. From now on asks may have pages, if there is an address for a link. */
void hosted_start(struct hosted *hosted);
/* After the front door, the store and the engine are gone. NULL is fine. */
void hosted_destroy(struct hosted *hosted);

/* --- one request for a page --- */

struct hosted_param {
    struct str name, value;
};

struct hosted_visit {
    struct hosted *hosted;
    struct list link;
    struct http_exchange *exchange;  /* NULL: the browser is gone, and nobody is told anything */
    const struct http_request *http; /* valid as long as the exchange has not been answered */
    struct arena arena;
    struct str principal; /* who it is: the principal that the ask was put to */
    role_set roles;
    char
        tie[HOSTED_TIE_LEN]; /* by what they were let in: what they go elsewhere with, and return */
    bool by_link, half;      /* nobody has signed in: see front_request */
    bool submits;            /* it brings an answer, and is told if that does not count */
    bool counted;            /* its answer has ended the ask */
    bool same;               /* or has been given before, by the same person */
    bool stored;             /* a secret: what is kept is what this visit brought */
    struct ask_record ask;   /* in the arena */
    struct str go;           /* where the page leads to, if the person wants */
    struct hosted_param query[HOSTED_QUERY_MAX]; /* of /a/return, decoded, without state */
    size_t query_count;
    void (*next)(struct hosted_visit *visit); /* when the ask is there and may be seen */
};

struct hosted_kind {
    struct str name; /* for the script of the page */
    struct str done; /* what is said when the ask was accepted */
    /* The ask has ended, and was not accepted: what was kept for it is taken back. May be called
     * more than once. NULL: nothing is kept. */
    void (*undo)(struct hosted *hosted, const struct ask_record *ask, struct arena *arena);
    struct str undone; /* what the page adds if it ended in another way; may be empty */
    bool signed_in;    /* it decides more than what is entered: the link alone is never enough */
    /* Writes further members of the question, wherever that is listed; NULL: none. */
    void (*item)(struct json_writer *w, const struct ask_record *ask);
    /* The ask waits. Writes further members of what the script is told; NULL: none. */
    void (*draw)(struct hosted_visit *visit, struct json_writer *w);
    /* The ask waits, and the page was opened: answers the exchange, for example with hosted_lead.
     * NULL: the page is drawn. */
    void (*opened)(struct hosted_visit *visit);
    /* "Submit" was pressed. `content` is what the script sent, or NULL. Ends in one of the
     * functions below, now or later. NULL: nothing can be submitted. */
    void (*submitted)(struct hosted_visit *visit, const struct json *content);
    /* A foreign page has sent the person back (visit->query). The same. NULL: none can. */
    void (*returned)(struct hosted_visit *visit);
    /* It has been decided about the answer, by this visit or an earlier one: visit->counted, which
     * this may change, and visit->ask.state says how the ask ended, or that it waits. False,
     * possible only if it was accepted: the page waits for hosted_show. NULL: nothing more is to
     * do. */
    bool (*settled)(struct hosted_visit *visit);
};

#define ROW(page, name, brings) extern const struct hosted_kind hosted_##name;
PAGE_ROWS(ROW)
#undef ROW

/* Each of these answers the exchange, if the browser is still there, and ends the visit. */

/* Answers the ask, and shows what became of it. The content is copied; it may be NULL. */
void hosted_answer(struct hosted_visit *visit, enum ask_state action, const struct json *content);
/* Shows what became of the ask. */
void hosted_show(struct hosted_visit *visit);
/* What the person has given answers their other questions as well that are on such a page, and for
 * which same() is true. The visit goes on. */
void hosted_answer_others(const struct hosted_visit *visit,
                          bool (*same)(struct arena *arena, const struct ask_record *mine,
                                       const struct ask_record *other));
/* What was sent does not fit; errors: JSON [{path, message}]. The ask still waits. */
void hosted_unfit(struct hosted_visit *visit, struct str detail, struct str errors);
/* It cannot be done: a status of HTTP, and a sentence for the person. */
void hosted_refuse(struct hosted_visit *visit, int status, struct str why);
/* Shows another address, to which the page leads when the person wants; it learns nothing of this
 * one. */
void hosted_lead(struct hosted_visit *visit, struct str url);

/* Appends what a foreign page has to give back as `state`, so that the person can return, with the
 * sign-in or token that they have now. */
bool hosted_state(const struct hosted_visit *visit, struct buf *out);
/* The address that a foreign page sends the person back to. It is always the same. */
struct str hosted_return_url(const struct hosted_visit *visit);

/* --- for the files of the pages --- */

/* The kind of the visit's ask. NULL: this server does not know it. */
const struct hosted_kind *hosted_kind_of(const struct ask_record *ask);
/* Does the visit's ask wait no more, or is its time over? */
bool hosted_is_over(const struct hosted_visit *visit);
/* Tells the page of the visit what it shows: the question, or how it ended. */
void hosted_draw(struct hosted_visit *visit);
/* Reads the query of /a/return: its members, decoded, and apart from them the state. False: it is
 * badly encoded, has something twice, or too much. */
bool hosted_read_query(struct arena *arena, struct str query, struct hosted_param *members,
                       size_t *count, struct str *state);
struct hosted_opts *hosted_opts(struct hosted *hosted);

#endif
