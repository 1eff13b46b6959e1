/*
 * mcp/shared/caller_record: the caller's part of a call's record, as JSON.
 *
 * Revisions are written by name, because a newer nod may number them differently.
 */
#include "mcp/shared/caller_record.h"

#include "mcp/wire/revision.h"

#include "json/write.h"
#include "rpc/message.h"

enum {
    CALLER_RECORD_VERSION = 1,
    CALLER_RECORD_MAX = 16 << 10,
    CALLER_RECORD_ARENA_MAX = 64 << 10, /* memory of one while it is read */
};

struct str caller_record_write(struct arena *arena, const struct caller_record *by)
{
    struct json_writer w;
    struct buf out;

    buf_init(&out, CALLER_RECORD_MAX);
    json_writer_init(&w, &out);
    jw_object(&w);
    jw_key_i64(&w, STR("version"), CALLER_RECORD_VERSION);
    jw_key_i64(&w, STR("can"), by->can);
    jw_key_i64(&w, STR("roles"), by->roles);
    if (by->asks_until)
        jw_key_i64(&w, STR("asksUntil"), by->asks_until);
    if (by->held) {
        jw_key_str(&w, STR("revision"), revision_facts((enum revision)by->revision)->name);
        jw_key_raw(&w, STR("id"), by->id);
        if (by->token.len)
            jw_key_raw(&w, STR("token"), by->token);
    }
    jw_end(&w);
    struct str text = json_writer_done(&w) ? arena_str(arena, buf_str(&out)) : STR_NONE;
    buf_finish(&out);
    return text;
}

static bool small(const struct json *object, struct str key, int64_t most, uint8_t *out)
{
    int64_t n;

    if (!json_i64(json_get(object, key), &n) || n < 0 || n > most)
        return false;
    *out = (uint8_t)n;
    return true;
}

bool caller_record_read(struct arena *arena, struct str text, struct caller_record *out)
{
    const struct json *object = json_parse(arena, arena_str(arena, text), NULL, NULL);
    struct str revision = json_get_str(object, STR("revision"));
    enum revision known = REVISION_NEWEST;
    uint8_t version;

    *out = (struct caller_record){ .held = revision.len > 0 };
    if (!small(object, STR("version"), CALLER_RECORD_VERSION, &version) ||
        version != CALLER_RECORD_VERSION || !small(object, STR("can"), UINT8_MAX, &out->can))
        return false;
    if (!small(object, STR("roles"), ROLES_ALL, &out->roles))
        out->roles = ROLES_ALL; /* an older nod: whether it may answer is looked at when it does */
    json_i64(json_get(object, STR("asksUntil")), &out->asks_until);
    if (!out->held)
        return true;
    out->id = rpc_id_of(arena, json_get(object, STR("id")));
    out->token = rpc_id_of(arena, json_get(object, STR("token")));
    if (!revision_find(revision, &known))
        return false;
    out->revision = (uint8_t)known;
    return out->id.len > 0;
}

struct client caller_record_client(const struct caller_record *by)
{
    return (struct client){ .declares = by->can,
                            .asked = by->can,
                            .revision = by->held ? by->revision : REVISION_2026_07_28,
                            .told = true };
}

struct client caller_record_maker(const struct call_record *record)
{
    struct caller_record by;
    struct arena arena;

    arena_init(&arena, CALLER_RECORD_ARENA_MAX);
    bool known = record->caller.len && caller_record_read(&arena, record->caller, &by);
    arena_finish(&arena);
    return known ? caller_record_client(&by) : (struct client){ 0 };
}
