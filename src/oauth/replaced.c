/*
 * oauth/replaced: tokens that another token has taken the place of.
 *
 * An account is connected again, for more scopes, or by a second page: its tokens are replaced, and
 * nobody here has the old ones any more. The service would go on to take them. So they are kept
 * (kind "credential-replaced") and given back (RFC 7009) once no call can be in the middle of using
 * them: when the old access token has run out, and after OAUTH_REPLACED_MS at the latest.
 *
 *     held_keep:   replaced_put ─▶ the account is replaced ─▶ ... due ─▶ the service is told ─▶
 *                  removed
 *
 * Each node has one timer, for what is due next as far as it knows. It looks once after its start
 * as well, for what a node that has died has left. An account that is disconnected takes its
 * replaced tokens with it, at once.
 *
 * Holds always: the tokens of the account that is there are not given back. A record may be of
 * those, if its node died before the account was replaced: then the record is removed. A service
 * that ends everything with one token (revokes_all) is not told: the new ones would end, too.
 */
#include "base/log.h"
#include "oauth/oauth_inside.h"

enum {
    REPLACED_KEY_MAX = OAUTH_KEY_MAX + 1 + ID_LEN, /* bytes of the key of such a record */
    SWEEP_FIRST_MS = 1000,                         /* after the start */
    SWEEP_AGAIN_MS = 600000, /* after a service could not be told, or if there are many */
};

/* --- one of them --- */

struct parting {
    struct work work; /* first */
    struct account account;
    struct service *service;
    char key[REPLACED_KEY_MAX];
    size_t key_len;
};

static void parting_look(struct work *work);
static void parting_remove(struct work *work);

static struct parting *parting_of(struct work *work)
{
    return (struct parting *)(void *)work;
}

struct str replaced_key(char out[OAUTH_KEY_MAX + 1 + ID_LEN], const struct account *account)
{
    size_t len = account_key(out, account->principal, account->service).len;
    size_t id_len = account->ask_id.len <= ID_LEN ? account->ask_id.len : ID_LEN;

    out[len] = '-';
    if (id_len)
        memcpy(out + len + 1, account->ask_id.at, id_len);
    return str_n(out, len + 1 + id_len);
}

static void parting_removed(void *data, nod_status status, const struct store_reply *reply)
{
    struct parting *p = data;

    (void)reply;
    if (!work_retry(&p->work, status, OAUTH_STORE_TRIES, parting_remove))
        work_end(&p->work); /* if it is still there, the service is told once more */
}

static void parting_remove(struct work *work)
{
    struct store *store = work->oauth->opts.store;
    struct parting *p = parting_of(work);

    store->ops->del(store, OAUTH_KIND_REPLACED, str_n(p->key, p->key_len), parting_removed, p);
}

static void parting_told(void *data, const struct fetch_result *result)
{
    struct parting *p = data;

    p->work.fetch = NULL;
    if (result->end == FETCH_DONE && result->status >= 200 && result->status <= 299) {
        LOG_INFO("a token that was replaced was given back to its service",
                 LOG_STR("service", p->account.service),
                 LOG_STR("principal", p->account.principal));
        parting_remove(&p->work);
        return;
    }
    LOG_WARN("a service could not be told that a token was replaced, which is tried again",
             LOG_STR("service", p->account.service), LOG_INT("status", result->status),
             LOG_STR("why", result->why));
    replaced_later(p->work.oauth, SWEEP_AGAIN_MS);
    work_end(&p->work);
}

static void parting_ready(void *data, const char *why)
{
    struct parting *p = data;
    bool refresh = p->account.refresh.len > 0;

    if (!why && p->service->revocation)
        p->work.fetch = revoke_send(p->service, refresh ? p->account.refresh : p->account.access,
                                    refresh, parting_told, p);
    if (p->work.fetch)
        return;
    if (!why) {
        parting_remove(&p->work); /* the service has no such endpoint */
        return;
    }
    replaced_later(p->work.oauth, SWEEP_AGAIN_MS);
    work_end(&p->work);
}

static void parting_looked(void *data, nod_status status, const struct store_reply *reply)
{
    struct parting *p = data;
    struct account there;
    char key[OAUTH_KEY_MAX];

    if (work_retry(&p->work, status, OAUTH_STORE_TRIES, parting_look))
        return;
    bool current = status == NOD_OK &&
                   account_read(p->work.oauth, &p->work.arena, OAUTH_KIND,
                                account_key(key, p->account.principal, p->account.service),
                                reply->value, &there) &&
                   there.state == ACCOUNT_CONNECTED && str_eq(there.ask_id, p->account.ask_id);
    if (status == NOD_E_STORE)
        work_end(&p->work);
    else if (current || !p->service || !account_counts(&p->account, p->service))
        parting_remove(&p->work);
    else
        service_await(p->service, &p->work.ready, parting_ready, p);
}

static void parting_look(struct work *work)
{
    struct store *store = work->oauth->opts.store;
    struct parting *p = parting_of(work);
    char key[OAUTH_KEY_MAX];

    store->ops->get(store, OAUTH_KIND, account_key(key, p->account.principal, p->account.service),
                    parting_looked, p);
}

/* --- all of them --- */

struct sweep {
    struct work work; /* first */
    char prefix[OAUTH_KEY_MAX];
    size_t prefix_len; /* 0: all that are due; otherwise all of this account */
    int64_t next_ms;   /* when the next one is due */
};

static void sweep_row(void *data, const struct store_row *row)
{
    struct sweep *s = data;
    struct oauth *oauth = s->work.oauth;
    struct work *work = work_begin(oauth, sizeof(struct parting));
    struct parting *p = parting_of(work);
    struct str key = row->value->key;
    char own[OAUTH_KEY_MAX];

    bool fits = key.len <= sizeof(p->key) && account_read(oauth, &work->arena, OAUTH_KIND_REPLACED,
                                                          key, row->value->value, &p->account);
    bool theirs = fits && (!s->prefix_len ||
                           str_eq(account_key(own, p->account.principal, p->account.service),
                                  str_n(s->prefix, s->prefix_len)));
    bool due = fits && (s->prefix_len || p->account.expires_ms <= oauth_now(oauth));
    if (fits && !due && p->account.expires_ms < s->next_ms)
        s->next_ms = p->account.expires_ms;
    if (!theirs || !due) {
        work_end(work);
        return;
    }
    memcpy(p->key, key.at, key.len);
    p->key_len = key.len;
    p->service = service_find(oauth, p->account.service);
    parting_look(work);
}

static void sweep_done(void *data, nod_status status, const struct store_reply *reply)
{
    struct sweep *s = data;
    struct oauth *oauth = s->work.oauth;
    int64_t now = oauth_now(oauth);

    if (status != NOD_OK || reply->cursor.len)
        replaced_later(oauth, SWEEP_AGAIN_MS);
    else if (s->next_ms != INT64_MAX)
        replaced_later(oauth, s->next_ms > now ? s->next_ms - now : 0);
    work_end(&s->work);
}

static void sweep(struct oauth *oauth, struct str prefix)
{
    struct sweep *s = (struct sweep *)(void *)work_begin(oauth, sizeof(struct sweep));
    struct store *store = oauth->opts.store;

    s->next_ms = INT64_MAX;
    if (prefix.len)
        memcpy(s->prefix, prefix.at, prefix.len);
    s->prefix_len = prefix.len;
    store->ops->list(store,
                     &(struct store_list){ .kind = OAUTH_KIND_REPLACED,
                                           .prefix = str_n(s->prefix, s->prefix_len),
                                           .limit = OAUTH_PAGE_MAX },
                     sweep_row, sweep_done, s);
}

static void sweep_due(void *data)
{
    struct oauth *oauth = data;

    oauth->replaced_due_ms = 0;
    sweep(oauth, STR_NONE);
}

void replaced_later(struct oauth *oauth, int64_t after_ms)
{
    int64_t due = loop_now(oauth->opts.loop) + after_ms;

    if (oauth->replaced_due_ms && oauth->replaced_due_ms <= due)
        return;
    oauth->replaced_due_ms = due;
    timer_set(oauth->opts.loop, &oauth->replaced_timer, after_ms, sweep_due, oauth);
}

void replaced_start(struct oauth *oauth)
{
    replaced_later(oauth, SWEEP_FIRST_MS);
}

void replaced_end_all(struct oauth *oauth, struct str key)
{
    sweep(oauth, key);
}

/* --- a new one --- */

bool replaced_counts(const struct account *old, const struct account *by,
                     const struct service *service)
{
    bool same =
        old->refresh.len ? str_eq(old->refresh, by->refresh) : str_eq(old->access, by->access);

    return service && !service->spec.revokes_all && account_counts(old, service) && !same &&
           (old->refresh.len || old->access.len);
}

int64_t replaced_put(struct oauth *oauth, const struct account *old, store_done *done, void *data)
{
    int64_t now = oauth_now(oauth), latest = now + OAUTH_REPLACED_MS;
    struct account kept = *old;
    char key[REPLACED_KEY_MAX];

    if (!kept.expires_ms || kept.expires_ms > latest)
        kept.expires_ms = latest;
    kept.lease = STR_NONE;
    int64_t after = kept.expires_ms > now ? kept.expires_ms - now : 0;
    account_put(oauth, OAUTH_KIND_REPLACED, replaced_key(key, old), &kept, 0,
                after + OAUTH_REVOKED_MS, done, data);
    return after;
}
