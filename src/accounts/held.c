/*
 * accounts/held: what a service has granted, until its question has ended.
 *
 * A person comes back with a code, and the service gives tokens for it. But the question that led
 * there may end in another way meanwhile: it is declined in the inbox, its call is cancelled, its
 * time is over. So these tokens are no account yet. They are kept by the id of the question (kind
 * "credential-held"), the question is answered, and how it ended decides about them:
 *
 *     held_keep:   accepted   read ─▶ what is connected now ─▶ that is kept (replaced.c) ─▶ the
 *                             account is replaced ─▶ removed
 *     accounts_drop:  otherwise  read ─▶ the service is told (RFC 7009) ─▶ removed
 *
 * Holds always: nothing is connected by a question that was not accepted, and what another question
 * has connected stays as it is. What was accepted is connected once: an account that this question
 * has led to is not replaced by it again, also if somebody has disconnected it since.
 *
 * A node may die at any of these arrows. If the question still waits, its page finds what is held,
 * and answers it. If it was accepted, its call goes on, wants a token, and keeps what is held for
 * it (token.c). If it is declined or expires, the node that learns it first drops what is held. If
 * its call was cancelled, that node dies as well, or the service cannot be told, whoever opens the
 * page once more does; if nobody does, it runs out (ACCOUNTS_HELD_MS).
 */
#include "accounts/accounts_inside.h"
#include "base/crash.h"
#include "base/log.h"

enum { KEEP_ROUNDS_MAX = 16 }; /* times that somebody else may change the account meanwhile */

struct holding {
    struct work work; /* first; its key is that of the account */
    struct str ask_id;
    struct account account; /* that is held */
    uint64_t version;       /* of the account that it replaces */
    struct account old;     /* which is that, if its service is to be told */
    char old_key[REPLACED_KEY_MAX];
    int64_t old_due_ms; /* from now; -1: it is not */
    int rounds;
    bool keeps;
    void (*done)(void *data, nod_status status);
    void *data;
};

static void account_look(struct holding *h);

static void over(struct holding *h, nod_status status)
{
    if (h->done)
        h->done(h->data, status);
    work_end(&h->work);
}

/* --- it is no longer held --- */

static void removed(void *data, nod_status status, const struct store_reply *reply)
{
    (void)status; /* if it is still there, it runs out */
    (void)reply;
    over(data, NOD_OK);
}

static void held_remove(struct holding *h)
{
    work_del(&h->work, ACCOUNT_KIND_HELD, h->ask_id, removed);
}

/* --- accepted --- */

static void replaced(void *data, nod_status status, const struct store_reply *reply)
{
    struct holding *h = data;

    (void)reply;
    CRASH_POINT(connect_after);
    if (status == NOD_E_STALE && ++h->rounds < KEEP_ROUNDS_MAX) {
        account_look(h);
        return;
    }
    if (status != NOD_OK) {
        over(h, NOD_E_STORE);
        return;
    }
    if (h->old_due_ms >= 0)
        replaced_later(h->work.accounts, h->old_due_ms);
    LOG_INFO("an account was connected", LOG_STR("service", h->account.service),
             LOG_STR("principal", h->account.principal), LOG_STR("scopes", h->account.scopes));
    held_remove(h);
}

static void account_replace(struct holding *h)
{
    account_put(&h->work, ACCOUNT_KIND, work_key(&h->work), &h->account, h->version, 0,
                ACCOUNTS_KEEP_TRIES, replaced);
}

static void old_is_kept(void *data, nod_status status, const struct store_reply *reply)
{
    struct holding *h = data;

    (void)reply;
    CRASH_POINT(connect_replaces);
    if (status == NOD_OK)
        account_replace(h);
    else
        over(h, NOD_E_STORE);
}

/* Whatever another question has led to is replaced: the person has agreed to this one as well. Has
 * this question led to the account that is there, or was there until a moment ago, that is kept. */
static void account_came(void *data, nod_status status, const struct store_reply *reply)
{
    struct holding *h = data;

    if (status != NOD_OK && status != NOD_E_NOT_FOUND) {
        over(h, NOD_E_STORE);
        return;
    }
    h->version = status == NOD_OK ? reply->version : STORE_NEW;
    h->old_due_ms = -1;
    bool there = status == NOD_OK && account_read(h->work.accounts, &h->work.arena, ACCOUNT_KIND,
                                                  work_key(&h->work), reply->value, &h->old);
    if (there && str_eq(h->old.ask_id, h->ask_id))
        held_remove(h);
    else if (there && replaced_counts(&h->old, &h->account,
                                      service_find(h->work.accounts, h->account.service)))
        h->old_due_ms = replaced_put(&h->work, h->old_key, &h->old, old_is_kept);
    else
        account_replace(h);
}

static void account_look(struct holding *h)
{
    work_get(&h->work, ACCOUNT_KIND, work_key(&h->work), ACCOUNTS_KEEP_TRIES, account_came);
}

/* --- not accepted --- */

static void told(void *data, bool is_told)
{
    struct holding *h = data;

    if (is_told)
        held_remove(h);
    else /* whoever opens the page once more tries again */
        over(h, NOD_OK);
}

/* --- both --- */

static void held_came(void *data, nod_status status, const struct store_reply *reply)
{
    struct holding *h = data;
    char expected[ACCOUNT_KEY_MAX];

    if (status == NOD_OK && (!account_read(h->work.accounts, &h->work.arena, ACCOUNT_KIND_HELD,
                                           h->ask_id, reply->value, &h->account) ||
                             !str_eq(work_key(&h->work), account_key(expected, h->account.principal,
                                                                     h->account.service))))
        status = NOD_E_NOT_FOUND;
    if (status != NOD_OK) /* nothing is held, or not any more */ {
        over(h, status == NOD_E_NOT_FOUND ? NOD_OK : NOD_E_STORE);
    } else if (h->keeps) {
        account_look(h);
    } else {
        struct oauth_service *service = service_find(h->work.accounts, h->account.service);

        LOG_INFO("a question ended while its account was being connected: nothing is connected",
                 LOG_STR("service", h->account.service),
                 LOG_STR("principal", h->account.principal));
        if (service && account_counts(&h->account, service))
            revoke_tell(h->work.accounts, service, &h->account, told, h);
        else
            held_remove(h);
    }
}

static struct holding *held_begin(struct accounts *accounts, struct str ask_id, struct str key)
{
    struct holding *h = work_begin(accounts, sizeof(*h), key);

    h->ask_id = arena_str(&h->work.arena, ask_id);
    work_get(&h->work, ACCOUNT_KIND_HELD, h->ask_id, ACCOUNTS_KEEP_TRIES, held_came);
    return h;
}

void held_keep(struct accounts *accounts, struct str ask_id, struct str key,
               void (*done)(void *data, nod_status status), void *data)
{
    struct holding *h = held_begin(accounts, ask_id, key);

    h->keeps = true;
    h->done = done;
    h->data = data;
}

void accounts_keep(struct accounts *accounts, const struct account_flow *flow,
                   void (*done)(void *data, nod_status status), void *data)
{
    char key[ACCOUNT_KEY_MAX];

    held_keep(accounts, flow->ask_id, account_key(key, flow->principal, flow->service), done, data);
}

void accounts_drop(struct accounts *accounts, const struct account_flow *flow)
{
    char key[ACCOUNT_KEY_MAX];

    held_begin(accounts, flow->ask_id, account_key(key, flow->principal, flow->service));
}
