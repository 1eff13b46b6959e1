/*
 * surface/grants: approvals that are remembered, listed and revoked.
 *
 *     GET    /api/grants?limit=&cursor=
 *     DELETE /api/grants/{id}
 *
 * Each sees and revokes what counts for itself, and an administrator everything. What a grant is
 * and when it ends is decided by the core (core/grant.h). Nothing here makes one: only an answer
 * does.
 */
#include "core/grant.h"
#include "surface/inbox_inside.h"

static void write_grant(void *data, const struct grant *grant)
{
    struct owned *owned = data;
    struct json_writer *w = &owned->w;
    struct arena *arena = &owned->shown.arena;
    const char *sleeps = grant_sleeps(owned->shown.inbox->opts.engine, grant, arena);

    jw_object(w);
    jw_key_str(w, STR("id"), grant->id);
    jw_key_str(w, STR("tool"), grant->tool);
    jw_key_str(w, STR("match"), grant_match_name(grant->match));
    jw_key_str(w, STR("principal"), grant->principal);
    jw_key_str(w, STR("scope"), grant_scope_name(grant->scope));
    jw_key_str(w, STR("label"), grant_label(arena, grant->scope, grant->match, grant->for_ms));
    jw_key_str(w, STR("message"), grant->message);
    jw_key_str(w, STR("questionId"), grant->ask_id);
    jw_key_str(w, STR("by"), grant->by);
    jw_key_time(w, STR("createdAt"), grant->at_ms);
    api_key_time_or_null(w, STR("expiresAt"), grant->until_ms);
    jw_key_i64(w, STR("uses"), grant->uses);
    api_key_str_or_null(w, STR("sleeps"), str_of(sleeps));
    jw_end(w);
}

static void list(struct owned *owned, struct str principal, struct str cursor, size_t limit)
{
    grants_list(owned->shown.inbox->opts.engine, principal, cursor, limit, write_grant,
                owned_listed, owned);
}

static void revoke(struct owned *owned, struct str id, struct str principal)
{
    grants_revoke(owned->shown.inbox->opts.engine, id, principal, owned_ended, owned);
}

const struct owned_kind owned_grants = {
    .path = STR_INIT("/api/grants"),
    .path_of_one = STR_INIT("/api/grants/{id}"),
    .list = list,
    .end = revoke,
    .none = STR_INIT("There is no such remembered approval."),
    .unsure = STR_INIT(STORE_AWAY ". Nothing may have been revoked."),
};
