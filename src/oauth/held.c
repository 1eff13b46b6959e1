/*
 * oauth/held: what a service has granted, until its question has ended.
 *
 * A person comes back with a code, and the service gives tokens for it. But the question that led
 * there may end in another way meanwhile: it is declined in the inbox, its call is cancelled, its
 * time is over. So these tokens are no account yet. They are kept by the id of the question (kind
 * "credential-held"), the question is answered, and how it ended decides about them:
 *
 *     held_keep:   accepted   read ─▶ what is connected now ─▶ that is kept (replaced.c) ─▶ the
 *                             account is replaced ─▶ removed
 *     oauth_drop:  otherwise  read ─▶ the service is told (RFC 7009) ─▶ removed
 *
 * Holds always: nothing is connected by a question that was not accepted, and what another question
 * has connected stays as it is. What was accepted is connected once: an account that this question
 * has led to is not replaced by it again, also if somebody has disconnected it since.
 *
 * A node may die at any of these arrows. If the question still waits, its page finds what is held,
 * and answers it. If it was accepted, its call goes on, wants a token, and keeps what is held for
 * it (token.c). If it is declined or expires, the node that learns it first drops what is held. If
 * its call was cancelled, that node dies as well, or the service cannot be told, whoever opens the
 * page once more does; if nobody does, it runs out (OAUTH_HELD_MS).
 */
#include "base/crash.h"
#include "base/log.h"
#include "oauth/oauth_inside.h"

enum { KEEP_ROUNDS_MAX = 16 }; /* times that somebody else may change the account meanwhile */

struct holding {
    struct work work; /* first */
    struct str ask_id;
    struct account account; /* that is held */
    struct service *service;
    uint64_t version;   /* of the account that it replaces */
    struct account old; /* which is that, if its service is to be told */
    int64_t old_due_ms; /* from now; -1: it is not */
    int rounds;
    bool keeps;
    char key[OAUTH_KEY_MAX];
    size_t key_len;
    void (*done)(void *data, nod_status status);
    void *data;
};

static void held_read(struct work *work);
static void account_look(struct work *work);
static void account_replace(struct work *work);
static void old_keep(struct work *work);
static void held_remove(struct work *work);

static struct holding *holding_of(struct work *work)
{
    return (struct holding *)(void *)work;
}

static struct str key_of(const struct holding *h)
{
    return str_n(h->key, h->key_len);
}

static void over(struct holding *h, nod_status status)
{
    if (h->done)
        h->done(h->data, status);
    work_end(&h->work);
}

/* --- it is no longer held --- */

static void removed(void *data, nod_status status, const struct store_reply *reply)
{
    struct holding *h = data;

    (void)reply;
    if (work_retry(&h->work, status, OAUTH_STORE_TRIES, held_remove))
        return;
    over(h, NOD_OK); /* if it is still there, it runs out */
}

static void held_remove(struct work *work)
{
    struct store *store = work->oauth->opts.store;
    struct holding *h = holding_of(work);

    store->ops->del(store, OAUTH_KIND_HELD, h->ask_id, removed, h);
}

/* --- accepted --- */

static void replaced(void *data, nod_status status, const struct store_reply *reply)
{
    struct holding *h = data;

    (void)reply;
    CRASH_POINT(connect_after);
    if (work_retry(&h->work, status, OAUTH_KEEP_TRIES, account_replace))
        return;
    if (status == NOD_E_STALE && ++h->rounds < KEEP_ROUNDS_MAX) {
        account_look(&h->work);
        return;
    }
    if (status != NOD_OK) {
        over(h, NOD_E_STORE);
        return;
    }
    if (h->old_due_ms >= 0)
        replaced_later(h->work.oauth, h->old_due_ms);
    LOG_INFO("an account was connected", LOG_STR("service", h->account.service),
             LOG_STR("principal", h->account.principal), LOG_STR("scopes", h->account.scopes));
    held_remove(&h->work);
}

static void account_replace(struct work *work)
{
    struct holding *h = holding_of(work);

    account_put(work->oauth, OAUTH_KIND, key_of(h), &h->account, h->version, 0, replaced, h);
}

static void old_is_kept(void *data, nod_status status, const struct store_reply *reply)
{
    struct holding *h = data;

    (void)reply;
    CRASH_POINT(connect_replaces);
    if (work_retry(&h->work, status, OAUTH_KEEP_TRIES, old_keep))
        return;
    if (status == NOD_OK)
        account_replace(&h->work);
    else
        over(h, NOD_E_STORE);
}

static void old_keep(struct work *work)
{
    struct holding *h = holding_of(work);

    h->old_due_ms = replaced_put(work->oauth, &h->old, old_is_kept, h);
}

/* Whatever another question has led to is replaced: the person has agreed to this one as well. Has
 * this question led to the account that is there, or was there until a moment ago, that is kept. */
static void account_came(void *data, nod_status status, const struct store_reply *reply)
{
    struct holding *h = data;

    if (work_retry(&h->work, status, OAUTH_KEEP_TRIES, account_look))
        return;
    if (status != NOD_OK && status != NOD_E_NOT_FOUND) {
        over(h, NOD_E_STORE);
        return;
    }
    h->version = status == NOD_OK ? reply->version : STORE_NEW;
    h->old_due_ms = -1;
    bool there = status == NOD_OK && account_read(h->work.oauth, &h->work.arena, OAUTH_KIND,
                                                  key_of(h), reply->value, &h->old);
    if (there && str_eq(h->old.ask_id, h->ask_id))
        held_remove(&h->work);
    else if (there &&
             replaced_counts(&h->old, &h->account, service_find(h->work.oauth, h->account.service)))
        old_keep(&h->work);
    else
        account_replace(&h->work);
}

static void account_look(struct work *work)
{
    struct store *store = work->oauth->opts.store;
    struct holding *h = holding_of(work);

    store->ops->get(store, OAUTH_KIND, key_of(h), account_came, h);
}

/* --- not accepted --- */

static void told(void *data, bool is_told)
{
    struct holding *h = data;

    if (is_told)
        held_remove(&h->work);
    else /* whoever opens the page once more tries again */
        over(h, NOD_OK);
}

static void endpoints_known(void *data, const char *why)
{
    struct holding *h = data;

    if (!why && h->service->revocation)
        revoke_tell(h->service, &h->account, told, h);
    else
        told(h, !why);
}

static void give_back(struct holding *h)
{
    LOG_INFO("a question ended while its account was being connected: nothing is connected",
             LOG_STR("service", h->account.service), LOG_STR("principal", h->account.principal));
    h->service = service_find(h->work.oauth, h->account.service);
    if (h->service && account_counts(&h->account, h->service))
        service_await(h->service, &h->work.ready, endpoints_known, h);
    else
        held_remove(&h->work);
}

/* --- both --- */

static void held_came(void *data, nod_status status, const struct store_reply *reply)
{
    struct holding *h = data;
    struct oauth *oauth = h->work.oauth;
    char expected[OAUTH_KEY_MAX];

    if (work_retry(&h->work, status, OAUTH_KEEP_TRIES, held_read))
        return;
    if (status == NOD_OK &&
        (!account_read(oauth, &h->work.arena, OAUTH_KIND_HELD, h->ask_id, reply->value,
                       &h->account) ||
         !str_eq(key_of(h), account_key(expected, h->account.principal, h->account.service))))
        status = NOD_E_NOT_FOUND;
    if (status != NOD_OK) /* nothing is held, or not any more */
        over(h, status == NOD_E_NOT_FOUND ? NOD_OK : NOD_E_STORE);
    else if (h->keeps)
        account_look(&h->work);
    else
        give_back(h);
}

static void held_read(struct work *work)
{
    struct store *store = work->oauth->opts.store;
    struct holding *h = holding_of(work);

    store->ops->get(store, OAUTH_KIND_HELD, h->ask_id, held_came, h);
}

static struct holding *begin(struct oauth *oauth, struct str ask_id, struct str key)
{
    struct holding *h = holding_of(work_begin(oauth, sizeof(struct holding)));

    h->ask_id = arena_str(&h->work.arena, ask_id);
    memcpy(h->key, key.at, key.len);
    h->key_len = key.len;
    return h;
}

void held_keep(struct oauth *oauth, struct str ask_id, struct str key,
               void (*done)(void *data, nod_status status), void *data)
{
    struct holding *h = begin(oauth, ask_id, key);

    h->keeps = true;
    h->done = done;
    h->data = data;
    held_read(&h->work);
}

void oauth_keep(struct oauth *oauth, const struct oauth_flow *flow,
                void (*done)(void *data, nod_status status), void *data)
{
    char key[OAUTH_KEY_MAX];

    held_keep(oauth, flow->ask_id, account_key(key, flow->principal, flow->service), done, data);
}

void oauth_drop(struct oauth *oauth, const struct oauth_flow *flow)
{
    char key[OAUTH_KEY_MAX];
    struct holding *h =
        begin(oauth, flow->ask_id, account_key(key, flow->principal, flow->service));

    held_read(&h->work);
}
