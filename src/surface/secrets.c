/*
 * surface/secrets: secrets that people have given, listed by name and deleted.
 *
 *     GET    /api/secrets?limit=&cursor=
 *     DELETE /api/secrets/{id}          an id, or the name of one's own
 *
 * Each sees and deletes its own, and an administrator everybody's. No value is ever shown: there is
 * no function that reads one here (core/secret.h).
 */
#include "core/secret.h"
#include "surface/inbox_inside.h"

static void write_row(void *data, const struct secret_row *row)
{
    struct json_writer *w = &((struct owned *)data)->w;

    jw_object(w);
    jw_key_str(w, STR("id"), row->id);
    jw_key_str(w, STR("name"), row->name);
    jw_key_str(w, STR("principal"), row->principal);
    jw_key_str(w, STR("tool"), row->tool);
    jw_key_time(w, STR("createdAt"), row->at_ms);
    api_key_time_or_null(w, STR("expiresAt"), row->until_ms);
    jw_end(w);
}

static void list(struct owned *owned, struct str principal, struct str cursor, size_t limit)
{
    secrets_list(owned->shown.inbox->opts.engine, principal, cursor, limit, write_row, owned_listed,
                 owned);
}

static void write_lasting(struct owned *owned)
{
    jw_key_bool(&owned->w, STR("lasting"), engine_secrets_last(owned->shown.inbox->opts.engine));
}

static void delete (struct owned *owned, struct str called, struct str principal)
{
    struct shown *shown = &owned->shown;
    struct str id = secret_id(&shown->arena, shown->viewer.principal, called);

    secret_delete(shown->inbox->opts.engine, id, principal, owned_ended, owned);
}

const struct owned_kind owned_secrets = {
    .path = STR_INIT("/api/secrets"),
    .path_of_one = STR_INIT("/api/secrets/{id}"),
    .list = list,
    .end = delete,
    .more = write_lasting,
    .none = STR_INIT("There is no such secret."),
    .unsure = STR_INIT(STORE_AWAY ". Nothing may have been deleted."),
};
