/*
 * oauth/revoke: accounts are listed, and disconnected.
 *
 *     oauth_revoke:  read ─▶ marked as revoked ─▶ the service is told (RFC 7009) ─▶ removed
 *
 * From the mark on no call is given the token, on any node: a refresh that is under way finds
 * another version of the record, and what it brought is revoked, too. The mark still holds the
 * tokens, for the service is told with them. If this node dies before that, whoever lists accounts
 * next goes on with it (OAUTH_REVOKED_MS). A service that is away is told again a few times
 * (OAUTH_TELL_TRIES), and named in the log if that is in vain.
 *
 * The record is removed by replacing it, if it is still the mark, with one that has no tokens and
 * runs out soon: an account that was connected again meanwhile stays, and nobody who is late
 * connects this one a second time (held.c).
 */
#include <stdio.h>

#include "base/crash.h"
#include "base/log.h"
#include "base/mem.h"
#include "oauth/oauth_inside.h"

enum { REMOVED_MS = 60000 }; /* a removed record still says so long what it was, without tokens */

struct revoking {
    struct work work;        /* first */
    struct service *service; /* NULL: there is no such service any more */
    char key[OAUTH_KEY_MAX];
    size_t key_len;
    char *principal; /* whose it must be; "": anyone's */
    struct account account;
    uint64_t version;
    void (*done)(void *data, nod_status status); /* NULL: nobody waits */
    void *data;
};

static void revoke_read(struct work *work);
static void revoke_mark(struct work *work);
static void revoke_remove(struct work *work);

static struct revoking *revoking_of(struct work *work)
{
    return (struct revoking *)(void *)work;
}

static struct str key_of(const struct revoking *r)
{
    return str_n(r->key, r->key_len);
}

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

static void freed(struct work *work)
{
    mem_free(revoking_of(work)->principal);
}

/* --- removed --- */

static void removed(void *data, nod_status status, const struct store_reply *reply)
{
    struct revoking *r = data;

    (void)reply;
    CRASH_POINT(revoke_after);
    if (work_retry(&r->work, status, OAUTH_STORE_TRIES, revoke_remove))
        return;
    over(r, NOD_OK);
}

static void revoke_remove(struct work *work)
{
    struct revoking *r = revoking_of(work);

    r->account.access = r->account.refresh = STR_NONE;
    account_put(work->oauth, OAUTH_KIND, key_of(r), &r->account, r->version, REMOVED_MS, removed,
                r);
}

/* --- the service is told --- */

/* With the refresh token, a service ends all that came of it (RFC 7009, 2.1). */
struct fetch *revoke_send(struct service *service, struct str token, bool refresh, fetch_done *done,
                          void *data)
{
    struct fetch *fetch;
    struct buf form;

    buf_init(&form, OAUTH_BODY_MAX);
    buf_wiped(&form, true);
    form_add(&form, STR("token"), token);
    form_add(&form, STR("token_type_hint"), refresh ? STR("refresh_token") : STR("access_token"));
    fetch = wire_post(service, service->revocation, &form, done, data);
    buf_finish(&form);
    return fetch;
}

struct telling {
    struct work work; /* first */
    struct service *service;
    struct str token;
    bool refresh;
    void (*told)(void *data, bool is_told); /* NULL: nobody waits */
    void *data;
};

static void telling_send(struct work *work);

static void telling_over(struct telling *t, bool is_told)
{
    if (t->told)
        t->told(t->data, is_told);
    work_end(&t->work);
}

/* Of 4xx: too slow, too early, too many requests. */
static bool is_for_now(int status)
{
    return status < 400 || status > 499 || status == 408 || status == 425 || status == 429;
}

/* A service that is away for a moment is told after that. One that says no has heard it. */
static void telling_failed(struct telling *t, int status, struct str why)
{
    if (is_for_now(status) && work_retry(&t->work, NOD_E_STORE, OAUTH_TELL_TRIES, telling_send))
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

static void telling_send(struct work *work)
{
    struct telling *t = (struct telling *)(void *)work;

    work->fetch = revoke_send(t->service, t->token, t->refresh, telling_done, t);
    if (!work->fetch)
        telling_failed(t, 0, STR("too many requests to it are under way"));
}

void revoke_tell(struct service *service, const struct account *account,
                 void (*told)(void *data, bool is_told), void *data)
{
    struct telling *t = (struct telling *)(void *)work_begin(service->oauth, sizeof(*t));

    t->service = service;
    t->refresh = account->refresh.len > 0;
    t->token = arena_str(&t->work.arena, t->refresh ? account->refresh : account->access);
    t->told = told;
    t->data = data;
    work_later(&t->work, 0, telling_send);
}

static void told(void *data, bool is_told)
{
    struct revoking *r = data;

    (void)is_told; /* it was tried */
    revoke_remove(&r->work);
}

static void endpoint_known(void *data, const char *why)
{
    struct revoking *r = data;

    if (!why && r->service->revocation && (r->account.refresh.len || r->account.access.len))
        revoke_tell(r->service, &r->account, told, r);
    else
        revoke_remove(&r->work);
}

static void tell_service(struct revoking *r)
{
    bool same = r->service && str_eq(r->account.identity, service_identity(r->service)) &&
                str_eq(r->account.client_id, r->service->spec.client_id);

    if (same)
        service_await(r->service, &r->work.ready, endpoint_known, r);
    else
        revoke_remove(&r->work);
}

/* --- marked --- */

static void marked(void *data, nod_status status, const struct store_reply *reply)
{
    struct revoking *r = data;

    CRASH_POINT(revoke_marked);
    if (work_retry(&r->work, status, OAUTH_STORE_TRIES, revoke_mark))
        return;
    if (status != NOD_OK) {
        over(r, status);
        return;
    }
    LOG_INFO("a connected account was disconnected", LOG_STR("service", r->account.service),
             LOG_STR("principal", r->account.principal));
    r->version = reply->version;
    tell(r, NOD_OK);
    replaced_end_all(r->work.oauth, key_of(r));
    tell_service(r);
}

/* It replaces whatever is there, so that no refresh can be faster than a revoke. */
static void revoke_mark(struct work *work)
{
    struct revoking *r = revoking_of(work);

    CRASH_POINT(revoke_before);
    r->account.state = ACCOUNT_REVOKED;
    account_put(work->oauth, OAUTH_KIND, key_of(r), &r->account, 0, OAUTH_REVOKED_MS, marked, r);
}

/* --- read --- */

static void came(void *data, nod_status status, const struct store_reply *reply)
{
    struct revoking *r = data;

    if (work_retry(&r->work, status, OAUTH_STORE_TRIES, revoke_read))
        return;
    if (status != NOD_OK || !account_read(r->work.oauth, &r->work.arena, OAUTH_KIND, key_of(r),
                                          reply->value, &r->account)) {
        over(r, status == NOD_E_STORE ? NOD_E_STORE : NOD_E_NOT_FOUND);
        return;
    }
    bool marks = r->done != NULL; /* otherwise it goes on with one that is marked */
    bool theirs = !r->principal[0] || str_eq(str_of(r->principal), r->account.principal);
    if (!theirs || marks == (r->account.state == ACCOUNT_REVOKED)) {
        over(r, NOD_E_NOT_FOUND);
        return;
    }
    r->service = service_find(r->work.oauth, r->account.service);
    r->version = reply->version;
    if (marks)
        revoke_mark(&r->work);
    else
        tell_service(r);
}

static void revoke_read(struct work *work)
{
    struct store *store = work->oauth->opts.store;
    struct revoking *r = revoking_of(work);

    store->ops->get(store, OAUTH_KIND, key_of(r), came, r);
}

static void revoke_begin(struct oauth *oauth, struct str key, struct str principal,
                         void (*done)(void *data, nod_status status), void *data)
{
    struct revoking *r = revoking_of(work_begin(oauth, sizeof(struct revoking)));

    r->work.freed = freed;
    r->principal = str_dup(principal);
    r->done = done;
    r->data = data;
    r->key_len = key.len <= OAUTH_KEY_MAX ? key.len : 0;
    if (r->key_len)
        memcpy(r->key, key.at, r->key_len);
    revoke_read(&r->work);
}

void oauth_revoke(struct oauth *oauth, struct str id, struct str principal,
                  void (*done)(void *data, nod_status status), void *data)
{
    revoke_begin(oauth, id, principal, done, data);
}

/* --- lists --- */

struct listing {
    struct work work; /* first */
    char prefix[OAUTH_OWNER_LEN];
    size_t prefix_len;
    oauth_account_row *row;
    void (*done)(void *data, nod_status status, struct str cursor);
    void *data;
};

static void list_row(void *data, const struct store_row *row)
{
    struct listing *l = data;
    struct oauth *oauth = l->work.oauth;
    struct account account;

    arena_reset(&l->work.arena);
    if (!account_read(oauth, &l->work.arena, OAUTH_KIND, row->value->key, row->value->value,
                      &account))
        return;
    if (account.state == ACCOUNT_REVOKED) { /* its node died before the service was told */
        if (account.access.len && oauth->work_count - oauth->jobs.count < OAUTH_FLOWS_MAX)
            revoke_begin(oauth, row->value->key, STR_NONE, NULL, NULL);
        return;
    }
    const struct service *service = service_find(oauth, account.service);
    l->row(l->data,
           &(struct oauth_account){ .id = row->value->key,
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
    bool fine = status == NOD_OK && reply->cursor.len <= OAUTH_CURSOR_MAX;

    l->done(l->data, status, fine ? reply->cursor : STR_NONE);
    work_end(&l->work);
}

void oauth_list(struct oauth *oauth, struct str principal, struct str cursor, size_t limit,
                oauth_account_row *row,
                void (*done)(void *data, nod_status status, struct str cursor), void *data)
{
    struct listing *l = (struct listing *)(void *)work_begin(oauth, sizeof(struct listing));
    struct store *store = oauth->opts.store;

    l->row = row;
    l->done = done;
    l->data = data;
    if (principal.len)
        l->prefix_len = account_owner(l->prefix, principal).len;
    store->ops->list(
        store,
        &(struct store_list){ .kind = OAUTH_KIND,
                              .prefix = str_n(l->prefix, l->prefix_len),
                              .cursor = cursor,
                              .limit = limit < OAUTH_PAGE_MAX ? limit : OAUTH_PAGE_MAX },
        list_row, list_done, l);
}
