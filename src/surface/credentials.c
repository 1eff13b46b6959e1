/*
 * surface/credentials: accounts that people have connected, listed and disconnected.
 *
 *     GET    /api/credentials?limit=&cursor=
 *     DELETE /api/credentials/{id}       an id, or the service of an account of one's own
 *
 * Each sees and disconnects their own, and an administrator everybody's. What an account is, and
 * how it is disconnected, is in accounts/. A token is nowhere here: struct account_shown has none.
 */
#include "accounts/accounts.h"
#include "surface/inbox_inside.h"

static void write_account(void *data, const struct account_shown *account)
{
    struct json_writer *w = &((struct owned *)data)->w;

    jw_object(w);
    jw_key_str(w, STR("id"), account->id);
    jw_key_str(w, STR("name"), account->service);
    jw_key_str(w, STR("title"), account->title);
    jw_key_str(w, STR("principal"), account->principal);
    jw_key_str(w, STR("scopes"), account->scopes);
    jw_key_str(w, STR("state"), account->refused ? STR("refused") : STR("connected"));
    jw_key_time(w, STR("connectedAt"), account->connected_ms);
    api_key_time_or_null(w, STR("refreshedAt"), account->refreshed_ms);
    api_key_time_or_null(w, STR("expiresAt"), account->expires_ms);
    jw_end(w);
}

static void list(struct owned *owned, struct str principal, struct str cursor, size_t limit)
{
    accounts_list(owned->shown.inbox->opts.accounts, principal, cursor, limit, write_account,
                  owned_listed, owned);
}

static void disconnect(struct owned *owned, struct str called, struct str principal)
{
    struct shown *shown = &owned->shown;
    struct str id = accounts_id(&shown->arena, shown->viewer.principal, called);

    accounts_revoke(owned->shown.inbox->opts.accounts, id, principal, owned_ended, owned);
}

const struct owned_kind owned_accounts = {
    .path = STR_INIT("/api/credentials"),
    .path_of_one = STR_INIT("/api/credentials/{id}"),
    .list = list,
    .end = disconnect,
    .none = STR_INIT("There is no such connected account."),
    .unsure = STR_INIT(STORE_AWAY ". The account may still be connected."),
};
