/*
 * mcp/era2025/attach_mark: a result that was found by calling again says of which call it is.
 *
 * The same tool with the same arguments may find a call that was made before (attach.c), but
 * whoever called may have meant another one. So programs are told in _meta, and the model, which
 * reads no _meta and might believe that it was done a second time, in a block of text behind what
 * the tool says. The rest of the result, structuredContent above all, is the tool's, and stays.
 */
#include <time.h>

#include "json/write.h"
#include "mcp/era2025/attach.h"

enum {
    MARK_RESULT_MAX = 64 << 20, /* bytes of a result with its mark */
    MARK_TIME_MAX = 40,         /* bytes of a date and a time */
};

#define ATTACHED_META STR("nod/attached")

/* `object` with a member that says which call was found, and when that was made. */
static void write_marked(struct json_writer *w, const struct json *object,
                         const struct call_record *record)
{
    jw_object(w);
    JSON_EACH (member, object)
        if (!str_eq(member->key, ATTACHED_META))
            jw_key_value(w, member->key, member);
    jw_key(w, ATTACHED_META);
    jw_object(w);
    jw_key_str(w, STR("callId"), record->id);
    jw_key_time(w, STR("calledAt"), record->opened_ms);
    jw_end(w);
    jw_end(w);
}

/* The same for the model. */
static struct str mark_text(struct arena *arena, const struct call_record *record, const char *what)
{
    time_t seconds = (time_t)(record->opened_ms / 1000);
    char at[MARK_TIME_MAX] = "";
    struct tm tm = { 0 };

    gmtime_r(&seconds, &tm);
    strftime(at, sizeof(at), "%Y-%m-%d %H:%M:%S UTC", &tm);
    return arena_fmt(arena,
                     "%s your earlier call with the same arguments, made at %s. Nothing was done "
                     "for this one: to have it done once more, call again.",
                     what, at);
}

static void write_marked_result(struct json_writer *w, struct arena *arena,
                                const struct json *result, const struct call_record *record)
{
    jw_object(w);
    JSON_EACH (member, result) {
        if (str_eq(member->key, STR("_meta")))
            continue;
        jw_key(w, member->key);
        if (!str_eq(member->key, STR("content")) || !json_is(member, JSON_ARRAY)) {
            jw_value(w, member);
            continue;
        }
        jw_array(w);
        JSON_EACH (block, member) /* what the tool itself says comes first */
            jw_value(w, block);
        jw_object(w);
        jw_key_str(w, STR("type"), STR("text"));
        jw_key_str(w, STR("text"), mark_text(arena, record, "This is the result of"));
        jw_end(w);
        jw_end(w);
    }
    jw_key(w, STR("_meta"));
    write_marked(w, json_get(result, STR("_meta")), record);
    jw_end(w);
}

void attach_mark_result(struct arena *arena, const struct call_record *record,
                        struct outcome *outcome)
{
    const struct json_opts deep = { .max_depth = JSON_DEPTH_MAX };
    bool fine = outcome->status == NOD_OK;
    struct str *text = fine ? &outcome->body : &outcome->meta;
    const struct json *object = json_parse(arena, *text, &deep, NULL);
    struct json_writer w;
    struct buf out;

    buf_init(&out, MARK_RESULT_MAX);
    json_writer_init(&w, &out);
    if (fine)
        write_marked_result(&w, arena, object, record);
    else
        write_marked(&w, object, record);
    struct str marked = json_writer_done(&w) ? arena_str(arena, buf_str(&out)) : STR_NONE;
    if (marked.len && (object || !text->len))
        *text = marked;
    if (!fine)
        outcome->message = arena_fmt(arena, STR_FMT "\n" STR_FMT, STR_ARG(outcome->message),
                                     STR_ARG(mark_text(arena, record, "This is how it went with")));
    buf_finish(&out);
}
