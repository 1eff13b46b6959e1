/*
 * oauth/oauth_inside: the module as its files see it. No other file includes this.
 */
#ifndef NOD_OAUTH_OAUTH_INSIDE_H
#define NOD_OAUTH_OAUTH_INSIDE_H

#include "base/id.h"
#include "base/list.h"
#include "base/map.h"
#include "core/need.h"
#include "json/write.h"
#include "net/loop.h"
#include "oauth/oauth.h"

enum {
    OAUTH_OWNER_LEN = 24,                                 /* characters of an owner in a key */
    OAUTH_KEY_MAX = OAUTH_OWNER_LEN + 1 + OAUTH_NAME_MAX, /* bytes of the key of an account */
    OAUTH_RECORD_MAX = 128 * 1024,                        /* bytes of a record */
    OAUTH_ARENA_MAX = 512 * 1024,                         /* memory of one piece of work */
    OAUTH_BODY_MAX = 64 * 1024,                           /* bytes of a request's body */
    OAUTH_STORE_TRIES = 6,      /* of an operation whose store fails, unless tokens are at stake */
    OAUTH_KEEP_TRIES = 60,      /* of writing down tokens that nobody else has */
    OAUTH_TELL_TRIES = 9,       /* of telling a service that a token is at its end */
    OAUTH_PAUSE_MS = 50,        /* before the second try; the pauses double */
    OAUTH_PAUSE_MOST_MS = 2000, /* and are never longer */
};

#define OAUTH_KIND          STR("credential")
#define OAUTH_KIND_FLOW     STR("credential-flow")
#define OAUTH_KIND_HELD     STR("credential-held")
#define OAUTH_KIND_REPLACED STR("credential-replaced")

/* --- services --- */

struct service {
    struct oauth *oauth;
    struct oauth_service_spec spec; /* its texts are in `text` */
    char *text;
    size_t text_size;
    struct reach reach;
    struct fetcher *fetcher;
    bool discovers; /* only its issuer was given */
    /* What it says of itself (RFC 8414); freed with it. */
    char *authorization, *token, *revocation;
    bool names_issuer; /* its answers say `iss` (RFC 9207) */
    bool barred;       /* where it describes itself may not be reached (net/reach) */
    bool auth_in_body; /* it takes the client's secret in the body only */
    int64_t read_ms;   /* loop_now when that was read; 0: it was not */
    struct fetch *fetch;
    int which;         /* of the places where it may be */
    struct list waits; /* struct service_wait */
};

struct service_wait { /* embedded; zeroed at first */
    struct list link;
    void (*ready)(void *data, const char *why); /* NULL: it is ready */
    void *data;
};

struct oauth {
    struct oauth_opts opts;
    struct need_source source;
    struct service services[OAUTH_SERVICES_MAX];
    size_t service_count;
    char problem[OAUTH_MESSAGE_MAX]; /* what is wrong with the one that was added last */
    struct map jobs;                 /* struct job of token.c, by the key of its account */
    struct list works;               /* struct work, under way */
    size_t work_count;
    size_t wait_count;
    struct timer replaced_timer; /* replaced.c */
    int64_t replaced_due_ms;     /* loop_now when it comes; 0: it is not set */
};

/* As oauth_add. */
bool service_fits(const struct oauth_service_spec *spec, const void **part, const char **why);
bool service_url_fits(struct str url, const char **why);
struct service *service_find(struct oauth *oauth, struct str name);
/* What its refresh tokens are for: its issuer, or where they are used. */
struct str service_identity(const struct service *service);
/* Calls ready() when its endpoints are known, perhaps at once. */
void service_await(struct service *service, struct service_wait *wait,
                   void (*ready)(void *data, const char *why), void *data);
void service_wait_stop(struct service_wait *wait);
void discovery_drop(struct service *service);

bool oauth_scopes_fit(struct str scopes);
/* The next word of `rest`, between spaces or commas. */
bool word_next(struct str *rest, struct str *word);
/* The words of both, each once. */
struct str scopes_join(struct arena *arena, struct str some, struct str more);

/* --- requests and answers (wire.c) --- */

/* name=value, encoded, with & before it if it is not the first. */
void form_add(struct buf *form, struct str name, struct str value);
void wire_authorization(struct buf *url, const struct service *service,
                        const struct oauth_flow *flow, struct str scopes, struct str verifier);

struct wire_tokens {
    struct str access, refresh, scopes; /* empty: it was not said */
    int64_t lasts_ms;                   /* 0: it was not said */
    struct str error;                   /* the service says that it refuses, and why */
};
/* False: that is no answer of a token endpoint. */
bool wire_tokens_read(struct arena *arena, const struct fetch_result *result,
                      struct wire_tokens *out);
/* Why the service could not be reached, in words; if only the operator can mend it, with the
 * setting that is missing. */
void wire_unreached(const struct fetch_result *result, char out[OAUTH_MESSAGE_MAX]);
/* POSTs a form to an endpoint of the service, as this client. NULL: it cannot be
 * sent. */
struct fetch *wire_post(struct service *service, const char *endpoint, struct buf *form,
                        fetch_done *done, void *data);
/* Does it mean that the service does not accept this grant any more? */
bool wire_is_refusal(struct str error);

/* --- records (account.c) --- */

enum account_state { ACCOUNT_CONNECTED, ACCOUNT_REFUSED, ACCOUNT_REVOKED };

struct account {
    struct str principal, service, identity, client_id;
    struct str access, refresh, scopes;
    struct str ask_id; /* the question that led to it */
    struct str lease;  /* who refreshes it now */
    int64_t lease_until_ms;
    int64_t expires_ms; /* of the access token; 0: not known */
    int64_t connected_ms, refreshed_ms;
    enum account_state state;
};

struct str account_key(char out[OAUTH_KEY_MAX], struct str principal, struct str service);
/* The part of the key that is the same for all accounts of a principal. */
struct str account_owner(char out[OAUTH_OWNER_LEN], struct str principal);
/* `kind` is OAUTH_KIND, or OAUTH_KIND_HELD with the id of the question as its key, or
 * OAUTH_KIND_REPLACED. False: it is damaged, or cannot be opened. */
bool account_read(struct oauth *oauth, struct arena *arena, struct str kind, struct str key,
                  struct str value, struct account *out);
void account_put(struct oauth *oauth, struct str kind, struct str key,
                 const struct account *account, uint64_t version, int64_t ttl_ms, store_done *done,
                 void *data);
/* Is it of this service, as it is set up now, and usable? */
bool account_counts(const struct account *account, const struct service *service);
/* The member of a record that holds what its store must not see. */
void sealed_write(struct oauth *oauth, struct json_writer *w, struct str kind, struct str key,
                  struct str plain);
/* False: it is not there, or cannot be opened. */
bool sealed_read(struct oauth *oauth, struct arena *arena, const struct json *record,
                 struct str kind, struct str key, struct str *plain);

/* --- a piece of work, which ends by itself --- */

struct work {
    struct list link; /* in oauth->works */
    struct oauth *oauth;
    struct arena arena; /* wiped when it ends */
    struct timer timer;
    struct fetch *fetch;
    struct service_wait ready;
    int tries;
    void (*again)(struct work *work);
    void (*freed)(struct work *work); /* may be NULL */
};

/* Of a struct that begins with a struct work. */
struct work *work_begin(struct oauth *oauth, size_t size);
void work_end(struct work *work);
/* The store failed. True: it is tried again, later. */
bool work_retry(struct work *work, nod_status status, int most, void (*again)(struct work *work));
/* Calls again(work) later. */
void work_later(struct work *work, int64_t after_ms, void (*again)(struct work *work));
/* The store's wall clock. */
int64_t oauth_now(const struct oauth *oauth);
/* Tells a service with a revocation endpoint that the tokens of this account are at their end, and
 * tries again if it is away for a moment (revoke.c). told() may be NULL, and is called once, later.
 */
void revoke_tell(struct service *service, const struct account *account,
                 void (*told)(void *data, bool is_told), void *data);
/* The question was accepted: what is held for it becomes the account of this key, if it has not
 * (held.c). done() is called once, later, with NOD_OK or NOD_E_STORE. */
void held_keep(struct oauth *oauth, struct str ask_id, struct str key,
               void (*done)(void *data, nod_status status), void *data);
void text_wipe(struct str text);
/* Tells the service that a token is at its end (RFC 7009). NULL: it cannot be sent. */
struct fetch *revoke_send(struct service *service, struct str token, bool refresh, fetch_done *done,
                          void *data);

/* --- tokens that were replaced (replaced.c) --- */

/* The key of the record of what was replaced. */
struct str replaced_key(char out[OAUTH_KEY_MAX + 1 + ID_LEN], const struct account *account);
/* Is `old`, which `by` takes the place of, to be given back to its service? */
bool replaced_counts(const struct account *old, const struct account *by,
                     const struct service *service);
/* Keeps it until it is due: in so many ms, after which replaced_later is to be called. */
int64_t replaced_put(struct oauth *oauth, const struct account *old, store_done *done, void *data);
void replaced_later(struct oauth *oauth, int64_t after_ms);
void replaced_start(struct oauth *oauth);
/* The account of this key was disconnected: what it has replaced ends as well, at once. */
void replaced_end_all(struct oauth *oauth, struct str key);

#endif
