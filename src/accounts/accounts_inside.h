/*
 * accounts/accounts_inside: the module as its files see it. No other file includes this.
 */
#ifndef NOD_ACCOUNTS_ACCOUNTS_INSIDE_H
#define NOD_ACCOUNTS_ACCOUNTS_INSIDE_H

#include "accounts/accounts.h"
#include "base/id.h"
#include "base/list.h"
#include "base/map.h"
#include "core/need.h"
#include "json/write.h"
#include "net/loop.h"

enum {
    ACCOUNT_OWNER_LEN = 24,                                   /* characters of an owner in a key */
    ACCOUNT_KEY_MAX = ACCOUNT_OWNER_LEN + 1 + OAUTH_NAME_MAX, /* bytes of the key of an account */
    REPLACED_KEY_MAX = ACCOUNT_KEY_MAX + 1 + ID_LEN, /* bytes of the key of replaced ones */
    ACCOUNTS_RECORD_MAX = 128 * 1024,                /* bytes of a record */
    ACCOUNTS_ARENA_MAX = 512 * 1024,                 /* memory of one piece of work */
    ACCOUNTS_STORE_TRIES = 6, /* of an operation whose store fails, unless tokens are at stake */
    ACCOUNTS_KEEP_TRIES = 60, /* of writing down tokens that nobody else has */
    ACCOUNTS_TELL_TRIES = 9,  /* of telling a service that a token is at its end */
    ACCOUNTS_PAUSE_MS = 50,   /* before the second try; the pauses double */
    ACCOUNTS_PAUSE_MOST_MS = 2000, /* and are never longer */
};

#define ACCOUNT_KIND          STR("credential")
#define ACCOUNT_KIND_FLOW     STR("credential-flow")
#define ACCOUNT_KIND_HELD     STR("credential-held")
#define ACCOUNT_KIND_REPLACED STR("credential-replaced")

struct accounts {
    struct accounts_opts opts;
    struct need_source source;
    struct oauth_service services[ACCOUNTS_SERVICES_MAX];
    size_t service_count;
    struct map jobs;   /* struct job of token.c, by the key of its account */
    struct list works; /* struct work, under way */
    size_t work_count;
    size_t wait_count;
    struct timer replaced_timer; /* replaced.c */
    int64_t replaced_due_ms;     /* loop_now when it comes; 0: it is not set */
};

struct oauth_service *service_find(const struct accounts *accounts, struct str name);
/* The store's wall clock. */
int64_t accounts_now(const struct accounts *accounts);

/* --- a piece of work, which ends by itself (accounts.c) --- */

struct work_op { /* what the store was asked: one thing after another */
    enum { WORK_GET, WORK_PUT, WORK_DEL } verb;
    struct str kind, key, principal;
    struct buf value;
    uint64_t version;
    int64_t ttl_ms;
    int most;
    store_done *done;
};

struct work {         /* the first member of what it is a piece of */
    struct list link; /* in accounts->works */
    struct accounts *accounts;
    struct arena arena;         /* wiped when it ends */
    char key[REPLACED_KEY_MAX]; /* of the account that it is about, or what the keys begin with */
    size_t key_len;
    struct timer timer;
    struct fetch *fetch;
    struct oauth_await ready;
    struct work_op op;
    int tries;
    void (*freed)(struct work *work); /* may be NULL */
};

/* Of a struct that begins with a struct work. A key that is too long is none. */
void *work_begin(struct accounts *accounts, size_t size, struct str key);
void work_end(struct work *work);
struct str work_key(const struct work *work);
/* Calls again(work) later. */
void work_later(struct work *work, int64_t after_ms, void (*again)(void *work));
/* The same, after a pause that grows. False: it was tried `most` times. */
bool work_again(struct work *work, int most, void (*again)(void *work));
/* Each asks the store, up to `most` times if that fails; done(work, ...) is told what came of it.
 * The key and the principal last until then; the value is taken over. */
void work_get(struct work *work, struct str kind, struct str key, int most, store_done *done);
void work_put(struct work *work, struct str kind, struct str key, struct buf *value,
              struct str principal, uint64_t version, int64_t ttl_ms, int most, store_done *done);
void work_del(struct work *work, struct str kind, struct str key, store_done *done);

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

struct str account_key(char out[ACCOUNT_KEY_MAX], struct str principal, struct str service);
/* The part of the key that is the same for all accounts of a principal. */
struct str account_owner(char out[ACCOUNT_OWNER_LEN], struct str principal);
/* `kind` is ACCOUNT_KIND, or ACCOUNT_KIND_HELD with the id of the question as its key, or
 * ACCOUNT_KIND_REPLACED. False: it is damaged, or cannot be opened. */
bool account_read(struct accounts *accounts, struct arena *arena, struct str kind, struct str key,
                  struct str value, struct account *out);
/* As work_put. */
void account_put(struct work *work, struct str kind, struct str key, const struct account *account,
                 uint64_t version, int64_t ttl_ms, int most, store_done *done);
/* Is it of this service, as it is set up now? */
bool account_is_of(const struct account *account, const struct oauth_service *service);
/* And usable? */
bool account_counts(const struct account *account, const struct oauth_service *service);
/* The member of a record that holds what its store must not see. */
void sealed_write(struct accounts *accounts, struct json_writer *w, struct str kind, struct str key,
                  struct str plain);
/* False: it is not there, or cannot be opened. */
bool sealed_read(struct accounts *accounts, struct arena *arena, const struct json *record,
                 struct str kind, struct str key, struct str *plain);

/* --- what they do for each other --- */

/* Tells the service, if it has an endpoint for that, that the tokens of this account are at their
 * end (RFC 7009), and tries again if it is away for a moment (revoke.c). told() may be NULL, and is
 * called once, later; false: the service does not know. */
void revoke_tell(struct accounts *accounts, struct oauth_service *service,
                 const struct account *account, void (*told)(void *data, bool is_told), void *data);
/* The question was accepted: what is held for it becomes the account of this key, if it has not
 * (held.c). done() is called once, later, with NOD_OK or NOD_E_STORE. */
void held_keep(struct accounts *accounts, struct str ask_id, struct str key,
               void (*done)(void *data, nod_status status), void *data);

/* --- tokens that were replaced (replaced.c) --- */

/* The key of the record of what was replaced. */
struct str replaced_key(char out[REPLACED_KEY_MAX], const struct account *account);
/* Is `old`, which `by` takes the place of, to be given back to its service? */
bool replaced_counts(const struct account *old, const struct account *by,
                     const struct oauth_service *service);
/* Keeps it, by the key in `out`, until it is due: in so many ms, after which replaced_later is to
 * be called. */
int64_t replaced_put(struct work *work, char out[REPLACED_KEY_MAX], const struct account *old,
                     store_done *done);
void replaced_later(struct accounts *accounts, int64_t after_ms);
/* The account of this key was disconnected: what it has replaced ends as well, at once. With no
 * key, what is due ends. */
void replaced_sweep(struct accounts *accounts, struct str key);

#endif
