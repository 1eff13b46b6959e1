/*
 * accounts/revoke: accounts are listed, and disconnected.
 *
 *     accounts_revoke:  read ─▶ marked as revoked ─▶ the service is told (RFC 7009) ─▶ removed
 *
 * From the mark on no call is given the token, on any node: a refresh that is under way finds
 * another version of the record, and what it brought is revoked, too. The mark still holds the
 * tokens, for the service is told with them. If this node dies before that, whoever lists accounts
 * next goes on with it (ACCOUNTS_REVOKED_MS). A service that is away is told again a few times
 * (ACCOUNTS_TELL_TRIES), and named in the log if that is in vain.
 *
 * The record is removed by replacing it, if it is still the mark, with one that has no tokens and
 * runs out soon: an account that was connected again meanwhile stays, and nobody who is late
 * connects this one a second time (held.c).
 */
#include "accounts/accounts_inside.h"
#include "base/crash.h"
#include "base/log.h"

enum { REMOVED_MS = 60000 }; /* a removed record still says so long what it was, without tokens */

struct revoking {
    struct work work;     /* first; its key is that of the account */
    struct str principal; /* whose it must be; empty: anyone's */
    struct account account;
    uint64_t version;
    void (*done)(void *data, nod_status status); /* NULL: nobody waits */
    void *data;
};

static void tell(struct revoking *r, nod_status status)
{
    void (*done)(void *data, nod_status status) = r->done;

    r->done = NULL;
    if (done)
        done(r->data, status);
}

static void over(struct revoking *r, nod_status status)
{
    tell(r, status);
    work_end(&r->work);
}

/* --- the service is told --- */

struct telling {
    struct work work; /* first; without a key */
    struct oauth_service *service;
    struct str token; /* with the refresh token a service ends all that came of it */
    bool refresh;
    void (*told)(void *data, bool is_told); /* NULL: nobody waits */
    void *data;
};

static void telling_send(void *data);

static void telling_over(struct telling *t, bool is_told)
{
    if (t->told)
        t->told(t->data, is_told);
    work_end(&t->work);
}

/* A service that is away for a moment is told after that. One that says no has heard it. */
static void telling_failed(struct telling *t, int status, struct str why)
{
    /* Of 4xx: too slow, too early, too many requests. */
    if ((status < 400 || status > 499 || status == 408 || status == 425 || status == 429) &&
        work_again(&t->work, ACCOUNTS_TELL_TRIES, telling_send))
        return;
    LOG_WARN("a service could not be told that a token has ended: what it has granted is there "
             "until it runs out, or is taken back at the service",
             LOG_STR("service", t->service->spec.name), LOG_INT("status", status),
             LOG_STR("why", why));
    telling_over(t, false);
}

static void telling_done(void *data, const struct fetch_result *result)
{
    struct telling *t = data;

    t->work.fetch = NULL;
    if (result->end == FETCH_DONE && result->status >= 200 && result->status <= 299)
        telling_over(t, true);
    else
        telling_failed(t, result->status, result->why);
}

static void telling_send(void *data)
{
    struct telling *t = data;

    t->work.fetch = oauth_revoke(t->service, t->token, t->refresh, telling_done, t);
    if (!t->work.fetch)
        telling_failed(t, 0, STR("too many requests to it are under way"));
}

static void telling_ready(void *data, const char *why)
{
    struct telling *t = data;

    if (!why && t->service->revocation && t->token.len)
        telling_send(t);
    else
        telling_over(t, !why);
}

static void telling_begin(void *data)
{
    struct telling *t = data;

    oauth_service_await(t->service, &t->work.ready, telling_ready, t);
}

void revoke_tell(struct accounts *accounts, struct oauth_service *service,
                 const struct account *account, void (*told)(void *data, bool is_told), void *data)
{
    struct telling *t = work_begin(accounts, sizeof(*t), STR_NONE);

    t->service = service;
    t->refresh = account->refresh.len > 0;
    t->token = arena_str(&t->work.arena, t->refresh ? account->refresh : account->access);
    t->told = told;
    t->data = data;
    work_later(&t->work, 0, telling_begin);
}

/* --- removed --- */

static void removed(void *data, nod_status status, const struct store_reply *reply)
{
    (void)status; /* if it is not, whoever lists accounts next goes on */
    (void)reply;
    CRASH_POINT(revoke_after);
    over(data, NOD_OK);
}

static void revoke_remove(void *data, bool is_told)
{
    struct revoking *r = data;

    (void)is_told; /* it was tried */
    r->account.access = r->account.refresh = STR_NONE;
    account_put(&r->work, ACCOUNT_KIND, work_key(&r->work), &r->account, r->version, REMOVED_MS,
                ACCOUNTS_STORE_TRIES, removed);
}

static void tell_service(struct revoking *r)
{
    struct oauth_service *service = service_find(r->work.accounts, r->account.service);

    if (service && account_is_of(&r->account, service))
        revoke_tell(r->work.accounts, service, &r->account, revoke_remove, r);
    else
        revoke_remove(r, false);
}

/* --- marked --- */

static void marked(void *data, nod_status status, const struct store_reply *reply)
{
    struct revoking *r = data;

    CRASH_POINT(revoke_marked);
    if (status != NOD_OK) {
        over(r, status);
        return;
    }
    LOG_INFO("a connected account was disconnected", LOG_STR("service", r->account.service),
             LOG_STR("principal", r->account.principal));
    r->version = reply->version;
    tell(r, NOD_OK);
    replaced_sweep(r->work.accounts, work_key(&r->work));
    tell_service(r);
}

/* --- read --- */

static void came(void *data, nod_status status, const struct store_reply *reply)
{
    struct revoking *r = data;

    if (status != NOD_OK || !account_read(r->work.accounts, &r->work.arena, ACCOUNT_KIND,
                                          work_key(&r->work), reply->value, &r->account)) {
        over(r, status == NOD_E_STORE ? NOD_E_STORE : NOD_E_NOT_FOUND);
        return;
    }
    bool marks = r->done != NULL; /* otherwise it goes on with one that is marked */
    bool theirs = !r->principal.len || str_eq(r->principal, r->account.principal);
    if (!theirs || marks == (r->account.state == ACCOUNT_REVOKED)) {
        over(r, NOD_E_NOT_FOUND);
        return;
    }
    r->version = reply->version;
    if (!marks) {
        tell_service(r);
        return;
    }
    /* It replaces whatever is there, so that no refresh can be faster than a revoke. */
    CRASH_POINT(revoke_before);
    r->account.state = ACCOUNT_REVOKED;
    account_put(&r->work, ACCOUNT_KIND, work_key(&r->work), &r->account, 0, ACCOUNTS_REVOKED_MS,
                ACCOUNTS_STORE_TRIES, marked);
}

void accounts_revoke(struct accounts *accounts, struct str id, struct str principal,
                     void (*done)(void *data, nod_status status), void *data)
{
    struct revoking *r = work_begin(accounts, sizeof(*r), id);

    r->principal = arena_str(&r->work.arena, principal);
    r->done = done;
    r->data = data;
    work_get(&r->work, ACCOUNT_KIND, work_key(&r->work), ACCOUNTS_STORE_TRIES, came);
}

/* --- lists --- */

struct listing {
    struct work work; /* first; its key is what the keys begin with */
    account_row *row;
    void (*done)(void *data, nod_status status, struct str cursor);
    void *data;
};

static void list_row(void *data, const struct store_row *row)
{
    struct listing *l = data;
    struct accounts *accounts = l->work.accounts;
    struct account account;

    arena_reset(&l->work.arena);
    if (!account_read(accounts, &l->work.arena, ACCOUNT_KIND, row->value->key, row->value->value,
                      &account))
        return;
    if (account.state == ACCOUNT_REVOKED) { /* its node died before the service was told */
        if (account.access.len && accounts->work_count - accounts->jobs.count < ACCOUNTS_FLOWS_MAX)
            accounts_revoke(accounts, row->value->key, STR_NONE, NULL, NULL);
        return;
    }
    const struct oauth_service *service = service_find(accounts, account.service);
    l->row(l->data,
           &(struct account_shown){ .id = row->value->key,
                                    .principal = account.principal,
                                    .service = account.service,
                                    .title = service ? service->spec.title : account.service,
                                    .scopes = account.scopes,
                                    .connected_ms = account.connected_ms,
                                    .refreshed_ms = account.refreshed_ms,
                                    .expires_ms = account.expires_ms,
                                    .refused = !service || !account_counts(&account, service) });
}

static void list_done(void *data, nod_status status, const struct store_reply *reply)
{
    struct listing *l = data;
    bool fine = status == NOD_OK && reply->cursor.len <= ACCOUNTS_CURSOR_MAX;

    l->done(l->data, status, fine ? reply->cursor : STR_NONE);
    work_end(&l->work);
}

void accounts_list(struct accounts *accounts, struct str principal, struct str cursor, size_t limit,
                   account_row *row, void (*done)(void *data, nod_status status, struct str cursor),
                   void *data)
{
    char owner[ACCOUNT_OWNER_LEN];
    struct listing *l = work_begin(accounts, sizeof(*l),
                                   principal.len ? account_owner(owner, principal) : STR_NONE);
    struct store *store = accounts->opts.store;

    l->row = row;
    l->done = done;
    l->data = data;
    store->ops->list(
        store,
        &(struct store_list){ .kind = ACCOUNT_KIND,
                              .prefix = work_key(&l->work),
                              .cursor = cursor,
                              .limit = limit < ACCOUNTS_PAGE_MAX ? limit : ACCOUNTS_PAGE_MAX },
        list_row, list_done, l);
}
