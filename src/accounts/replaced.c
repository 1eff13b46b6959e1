/*
 * accounts/replaced: tokens that another token has taken the place of.
 *
 * An account is connected again, for more scopes, or by a second page: its tokens are replaced, and
 * nobody here has the old ones any more. The service would go on to take them. So they are kept
 * (kind "credential-replaced") and given back (RFC 7009) once no call can be in the middle of using
 * them: when the old access token has run out, and after ACCOUNTS_REPLACED_MS at the latest.
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
#include "accounts/accounts_inside.h"
#include "base/log.h"

enum { SWEEP_AGAIN_MS = 600000 }; /* after a service could not be told, or if there are many */

/* --- one of them --- */

struct parting {
    struct work work; /* first; its key is that of the record of what was replaced */
    struct account account;
    struct oauth_service *service;
    char account_key[ACCOUNT_KEY_MAX];
};

struct str replaced_key(char out[REPLACED_KEY_MAX], const struct account *account)
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
    (void)status; /* if it is still there, the service is told once more */
    (void)reply;
    work_end(data);
}

static void parting_told(void *data, bool is_told)
{
    struct parting *p = data;

    if (!is_told) {
        replaced_later(p->work.accounts, SWEEP_AGAIN_MS);
        work_end(&p->work);
        return;
    }
    if (p->service->revocation)
        LOG_INFO("a token that was replaced was given back to its service",
                 LOG_STR("service", p->account.service),
                 LOG_STR("principal", p->account.principal));
    work_del(&p->work, ACCOUNT_KIND_REPLACED, work_key(&p->work), parting_removed);
}

static void parting_looked(void *data, nod_status status, const struct store_reply *reply)
{
    struct parting *p = data;
    struct account there;

    bool current = status == NOD_OK &&
                   account_read(p->work.accounts, &p->work.arena, ACCOUNT_KIND, p->work.op.key,
                                reply->value, &there) &&
                   there.state == ACCOUNT_CONNECTED && str_eq(there.ask_id, p->account.ask_id);
    if (status == NOD_E_STORE)
        work_end(&p->work);
    else if (current || !p->service || !account_counts(&p->account, p->service))
        work_del(&p->work, ACCOUNT_KIND_REPLACED, work_key(&p->work), parting_removed);
    else
        revoke_tell(p->work.accounts, p->service, &p->account, parting_told, p);
}

/* --- all of them --- */

struct sweep {
    struct work work; /* first; with a key: all of this account; without: all that are due */
    int64_t next_ms;  /* when the next one is due */
};

static void sweep_row(void *data, const struct store_row *row)
{
    struct sweep *s = data;
    struct accounts *accounts = s->work.accounts;
    struct str whose = work_key(&s->work), key = row->value->key;
    struct parting *p = work_begin(accounts, sizeof(*p), key);

    if (!p->work.key_len || !account_read(accounts, &p->work.arena, ACCOUNT_KIND_REPLACED, key,
                                          row->value->value, &p->account)) {
        work_end(&p->work);
        return;
    }
    struct str own = account_key(p->account_key, p->account.principal, p->account.service);
    int64_t due_ms = p->account.expires_ms;
    if (whose.len ? str_eq(own, whose) : due_ms <= accounts_now(accounts)) {
        p->service = service_find(accounts, p->account.service);
        work_get(&p->work, ACCOUNT_KIND, own, ACCOUNTS_STORE_TRIES, parting_looked);
        return;
    }
    if (!whose.len && due_ms < s->next_ms)
        s->next_ms = due_ms;
    work_end(&p->work);
}

static void sweep_done(void *data, nod_status status, const struct store_reply *reply)
{
    struct sweep *s = data;
    struct accounts *accounts = s->work.accounts;
    int64_t now = accounts_now(accounts);

    if (status != NOD_OK || reply->cursor.len)
        replaced_later(accounts, SWEEP_AGAIN_MS);
    else if (s->next_ms != INT64_MAX)
        replaced_later(accounts, s->next_ms > now ? s->next_ms - now : 0);
    work_end(&s->work);
}

void replaced_sweep(struct accounts *accounts, struct str key)
{
    struct sweep *s = work_begin(accounts, sizeof(*s), key);
    struct store *store = accounts->opts.store;

    s->next_ms = INT64_MAX;
    store->ops->list(store,
                     &(struct store_list){ .kind = ACCOUNT_KIND_REPLACED,
                                           .prefix = work_key(&s->work),
                                           .limit = ACCOUNTS_PAGE_MAX },
                     sweep_row, sweep_done, s);
}

static void sweep_due(void *data)
{
    struct accounts *accounts = data;

    accounts->replaced_due_ms = 0;
    replaced_sweep(accounts, STR_NONE);
}

void replaced_later(struct accounts *accounts, int64_t after_ms)
{
    int64_t due = loop_now(accounts->opts.loop) + after_ms;

    if (accounts->replaced_due_ms && accounts->replaced_due_ms <= due)
        return;
    accounts->replaced_due_ms = due;
    timer_set(accounts->opts.loop, &accounts->replaced_timer, after_ms, sweep_due, accounts);
}

/* --- a new one --- */

bool replaced_counts(const struct account *old, const struct account *by,
                     const struct oauth_service *service)
{
    bool same =
        old->refresh.len ? str_eq(old->refresh, by->refresh) : str_eq(old->access, by->access);

    return service && !service->spec.revokes_all && account_counts(old, service) && !same &&
           (old->refresh.len || old->access.len);
}

int64_t replaced_put(struct work *work, char out[REPLACED_KEY_MAX], const struct account *old,
                     store_done *done)
{
    int64_t now = accounts_now(work->accounts), latest = now + ACCOUNTS_REPLACED_MS;
    struct account kept = *old;

    if (!kept.expires_ms || kept.expires_ms > latest)
        kept.expires_ms = latest;
    kept.lease = STR_NONE;
    int64_t after = kept.expires_ms > now ? kept.expires_ms - now : 0;
    account_put(work, ACCOUNT_KIND_REPLACED, replaced_key(out, old), &kept, 0,
                after + ACCOUNTS_REVOKED_MS, ACCOUNTS_KEEP_TRIES, done);
    return after;
}
