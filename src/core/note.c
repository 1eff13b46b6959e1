/*
 * core/note: notes as JSON.
 *
 * Who reads a note takes what it knows, and leaves the rest alone: a newer node may say more.
 */
#include "core/note.h"

#include "json/write.h"

static const struct json *member_of(struct str note, struct arena *arena, struct str key)
{
    return note.len ? json_get(json_parse(arena, note, NULL, NULL), key) : NULL;
}

static struct str text_of(struct str note, struct arena *arena, struct str key)
{
    const struct json *v = member_of(note, arena, key);

    return json_is(v, JSON_STRING) ? arena_str(arena, v->text) : STR_NONE;
}

struct str note_reason(struct str note, struct arena *arena)
{
    return text_of(note, arena, STR("reason"));
}

struct str note_grant(struct str note, struct arena *arena)
{
    return text_of(note, arena, STR("grant"));
}

bool note_remember(struct str note, struct arena *arena, struct noted *out)
{
    const struct json *v = member_of(note, arena, STR("remember"));

    *out = (struct noted){ 0 };
    if (!json_is(v, JSON_OBJECT))
        return false;
    out->tool = arena_str(arena, json_get_str(v, STR("tool")));
    out->digest = arena_str(arena, json_get_str(v, STR("digest")));
    out->version = arena_str(arena, json_get_str(v, STR("version")));
    out->message = arena_str(arena, json_get_str(v, STR("message")));
    return out->tool.len && grant_scope_named(json_get_str(v, STR("scope")), &out->choice.scope) &&
           grant_match_named(json_get_str(v, STR("match")), &out->choice.match) &&
           json_i64(json_get(v, STR("forMs")), &out->choice.for_ms) &&
           json_i64(json_get(v, STR("at")), &out->at_ms);
}

struct str note_write(struct arena *arena, struct str reason, const struct noted *remember)
{
    struct buf out;
    struct json_writer w;

    if (!reason.len && !remember)
        return STR_NONE;
    buf_init(&out, NOTE_MAX);
    json_writer_init(&w, &out);
    jw_object(&w);
    if (reason.len)
        jw_key_str(&w, STR("reason"), reason);
    if (remember) {
        jw_key(&w, STR("remember"));
        jw_object(&w);
        jw_key_str(&w, STR("tool"), remember->tool);
        jw_key_str(&w, STR("digest"), remember->digest);
        jw_key_str(&w, STR("version"), remember->version);
        jw_key_str(&w, STR("message"), remember->message);
        jw_key_str(&w, STR("scope"), grant_scope_name(remember->choice.scope));
        jw_key_str(&w, STR("match"), grant_match_name(remember->choice.match));
        jw_key_i64(&w, STR("forMs"), remember->choice.for_ms);
        jw_key_i64(&w, STR("at"), remember->at_ms);
        jw_end(&w);
    }
    jw_end(&w);
    struct str note = json_writer_done(&w) ? arena_str(arena, buf_str(&out)) : STR_NONE;
    buf_finish(&out);
    return note;
}

struct str note_write_grant(struct arena *arena, struct str grant)
{
    return arena_fmt(arena, "{\"grant\":\"" STR_FMT "\"}", STR_ARG(grant)); /* hexadecimal */
}
