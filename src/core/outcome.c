/* core/outcome: the codes of failures, and an outcome as JSON for the store. */
#include "core/outcome.h"

#include "core/run.h"
#include "json/write.h"

static const struct {
    nod_status status;
    const char *code;
    const char *name;
} words[] = {
    { NOD_OK, "OK", "ok" },
    { NOD_PENDING, "PENDING", "pending" },
    { NOD_E_INVALID, "INVALID_INPUT", "invalid" },
    { NOD_E_TIMEOUT, "ELICITATION_TIMEOUT", "timeout" },
    { NOD_E_NOT_SUPPORTED, "ELICITATION_NOT_SUPPORTED", "not supported" },
    { NOD_E_BAD_SCHEMA, "BAD_SCHEMA", "bad schema" },
    { NOD_E_NOT_DETERMINISTIC, "NOT_DETERMINISTIC", "not deterministic" },
    { NOD_E_OUTCOME_UNKNOWN, "OUTCOME_UNKNOWN", "outcome unknown" },
    { NOD_E_LIMIT, "LIMIT_REACHED", "limit reached" },
    { NOD_E_CANCELLED, "CANCELLED", "cancelled" },
    { NOD_E_STORE, "STORE_UNAVAILABLE", "store unavailable" },
    { NOD_E_STALE, "STALE", "stale" },
    { NOD_E_NOT_FOUND, "NOT_FOUND", "not found" },
    { NOD_E_USAGE, "HANDLER_BUG", "usage" },
    { NOD_E_PARSE, "PARSE_ERROR", "parse error" },
    { NOD_E_IO, "IO_ERROR", "i/o error" },
    { NOD_E_REFUSED, "REFUSED", "refused" },
    { NOD_E_FAILED, "TOOL_FAILED", "failed" },
    { NOD_E_CRASHED, "HANDLER_CRASHED", "crashed" },
};

const char *outcome_code(nod_status status)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (words[i].status == status)
            return words[i].code;
    return "UNKNOWN_STATUS";
}

const char *nod_status_name(nod_status status)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (words[i].status == status)
            return words[i].name;
    return "unknown status";
}

/* --- calls that cannot go on as they began --- */

enum {
    SO_FAR_NAMED = 20,           /* steps that a failure names */
    SO_FAR_BYTES_MAX = 16 << 10, /* of their names, as a sentence and as JSON */
};

/* Steps of the author: a result is there, or only the intent. */
static bool is_step(const struct so_far *so_far, const struct entry *entry, bool done)
{
    if (str_starts(entry->key, STR(RUN_RESERVED_PREFIX)))
        return false;
    if (done)
        return entry->class == ENTRY_STEP;
    return entry->class == ENTRY_INTENT &&
           !journal_find(so_far->entries, so_far->count, ENTRY_STEP, entry->key);
}

/* Writes their names: with `w` as JSON. Returns how many there are. */
static size_t name_steps(const struct so_far *so_far, bool done, struct buf *out,
                         struct json_writer *w)
{
    size_t count = 0;

    for (size_t i = 0; i < so_far->count; i++) {
        const struct entry *entry = &so_far->entries[i];
        if (!is_step(so_far, entry, done) || ++count > SO_FAR_NAMED)
            continue;
        if (w)
            jw_str(w, entry->key);
        else
            buf_fmt(out, "%s'" STR_FMT "'", count > 1 ? ", " : "", STR_ARG(entry->key));
    }
    if (!w && count > SO_FAR_NAMED)
        buf_fmt(out, " and %zu more", count - SO_FAR_NAMED);
    return count;
}

struct str outcome_so_far(struct arena *arena, const struct so_far *so_far)
{
    struct buf text, open;

    buf_init(&text, SO_FAR_BYTES_MAX);
    buf_init(&open, SO_FAR_BYTES_MAX);
    buf_add(&text, STR(" Done before: "));
    size_t done = name_steps(so_far, true, &text, NULL);
    if (done)
        buf_add(&text, STR("."));
    else
        buf_clear(&text);
    size_t unknown = name_steps(so_far, false, &open, NULL);
    if (unknown)
        buf_fmt(&text, " Begun, and not known whether done: " STR_FMT ".", STR_ARG(buf_str(&open)));
    else if (so_far->interrupted)
        buf_add(&text,
                STR(" A step that was under way when its server stopped may have been done."));
    if (!done && so_far->answered && !so_far->interrupted && !unknown)
        buf_add(&text, STR(" No step was done."));
    struct str said = arena_str(arena, buf_str(&text));
    buf_finish(&open);
    buf_finish(&text);
    return said;
}

/* The same for programs; empty: nothing was done. */
static struct str so_far_meta(struct arena *arena, const struct so_far *so_far)
{
    struct json_writer w;
    struct buf text;
    size_t count;

    buf_init(&text, SO_FAR_BYTES_MAX);
    json_writer_init(&w, &text);
    jw_object(&w);
    jw_key(&w, STR("stepsDone"));
    jw_array(&w);
    count = name_steps(so_far, true, NULL, &w);
    jw_end(&w);
    jw_key(&w, STR("stepsOpen"));
    jw_array(&w);
    count += name_steps(so_far, false, NULL, &w);
    jw_end(&w);
    if (so_far->interrupted) { /* a step is named before it is done only if it may be done once */
        jw_key_bool(&w, STR("interrupted"), true);
        count++;
    }
    jw_end(&w);
    struct str meta = json_writer_done(&w) && count ? arena_str(arena, buf_str(&text)) : STR_NONE;
    buf_finish(&text);
    return meta;
}

struct outcome outcome_gone(struct arena *arena, struct str target, const struct so_far *so_far)
{
    struct str said = outcome_so_far(arena, so_far);

    return (struct outcome){
        .status = NOD_E_NOT_FOUND,
        .code = OUTCOME_TARGET_GONE,
        .message = arena_fmt(
            arena, STR_FMT " is no longer there: this call of it has ended, and %s%s" STR_FMT,
            STR_ARG(target),
            so_far->answered ? "nothing more of it is done" : "no further answer is taken",
            said.len ? "." : "", STR_ARG(said)),
        .meta = so_far_meta(arena, so_far),
    };
}

struct outcome outcome_changed(struct arena *arena, struct str target, const struct so_far *so_far)
{
    struct str said = outcome_so_far(arena, so_far), meta = so_far_meta(arena, so_far);

    return (struct outcome){
        .status = NOD_E_REFUSED,
        .code = OUTCOME_TARGET_CHANGED,
        .message = arena_fmt(arena, STR_FMT " has changed since this call %s." STR_FMT "%s",
                             STR_ARG(target),
                             so_far->answered ? "began, so the call was ended, and nothing more of "
                                                "it was done"
                                              : "asked; no answer was taken",
                             STR_ARG(said),
                             meta.len || so_far->interrupted
                                 ? " Look at what was done before you make the call again."
                                 : " Make the call again."),
        .meta = meta,
    };
}

struct outcome outcome_homeless(struct arena *arena, struct str target)
{
    return (struct outcome){
        .status = NOD_E_OUTCOME_UNKNOWN,
        .code = outcome_code(NOD_E_OUTCOME_UNKNOWN),
        .message =
            arena_fmt(arena,
                      STR_FMT " was begun on a node that is gone, or before a restart, and cannot "
                              "go on elsewhere: whether it was done is not known",
                      STR_ARG(target)),
    };
}

struct outcome outcome_withdrawn(struct arena *arena, const struct so_far *so_far)
{
    struct str said = outcome_so_far(arena, so_far), meta = so_far_meta(arena, so_far);

    return (struct outcome){
        .status = NOD_E_CANCELLED,
        .code = outcome_code(NOD_E_CANCELLED),
        .message = meta.len ? arena_fmt(arena,
                                        "This request was cancelled." STR_FMT
                                        " Look at what was done before you send it again, under "
                                        "another id.",
                                        STR_ARG(said))
                            : STR("This request was cancelled; send it again under another id."),
        .meta = meta,
    };
}

struct outcome outcome_crashed(struct arena *arena, struct str target, enum crashed_in in,
                               bool step_open)
{
    bool run = in == CRASHED_IN_RUN;
    nod_status status = step_open ? NOD_E_OUTCOME_UNKNOWN : NOD_E_CRASHED;

    return (struct outcome){
        .status = status,
        .code = outcome_code(status),
        .message = arena_fmt(
            arena, "The server died whenever %s of " STR_FMT " was %s, so it is not run again. %s",
            run ? "this call" : "an answer to this call", STR_ARG(target), run ? "run" : "taken",
            step_open ? "A step was under way: whether it was done is not known."
                      : "What it did before may have had effects."),
    };
}

struct outcome outcome_ended_by_operator(struct arena *arena, struct str reason)
{
    return (struct outcome){
        .status = NOD_E_REFUSED,
        .code = OUTCOME_ENDED_BY_OPERATOR,
        .message = arena_fmt(arena, "An operator has ended this call: " STR_FMT, STR_ARG(reason)),
    };
}

bool outcome_write(struct buf *out, const struct outcome *outcome)
{
    struct json_writer w;

    json_writer_init(&w, out);
    jw_object(&w);
    jw_key_i64(&w, STR("status"), outcome->status);
    if (outcome->body.len)
        jw_key_raw(&w, STR("body"), outcome->body);
    if (outcome->code)
        jw_key_str(&w, STR("code"), str_of(outcome->code));
    if (outcome->message.len)
        jw_key_str(&w, STR("message"), outcome->message);
    if (outcome->details.len)
        jw_key_raw(&w, STR("details"), outcome->details);
    if (outcome->meta.len)
        jw_key_raw(&w, STR("meta"), outcome->meta);
    if (outcome->error_id.len)
        jw_key_str(&w, STR("errorId"), outcome->error_id);
    if (outcome->request_error) {
        jw_key_bool(&w, STR("requestError"), true);
        if (outcome->error_data.len)
            jw_key_raw(&w, STR("errorData"), outcome->error_data);
    }
    jw_end(&w);
    return json_writer_done(&w);
}

bool outcome_write_body(struct buf *out, struct str *body)
{
    static const struct str head = STR_INIT("{\"status\":0,\"body\":");
    char *to = buf_reserve(out, head.len + body->len + 1);

    _Static_assert(NOD_OK == 0, "what is written as the status of a call that went well");
    if (!to)
        return false;
    memcpy(to, head.at, head.len);
    memcpy(to + head.len, body->at, body->len);
    to[head.len + body->len] = '}';
    out->len += head.len + body->len + 1;
    *body = str_n(to + head.len, body->len);
    return true;
}

static struct str raw_of(const struct json *object, struct str key)
{
    const struct json *v = json_get(object, key);

    return v ? v->raw : STR_NONE;
}

nod_status outcome_read(struct arena *arena, struct str text, struct outcome *out)
{
    struct json_error error;
    struct json *v = json_parse(arena, text, NULL, &error);
    int64_t status;

    if (!v || !json_i64(json_get(v, STR("status")), &status))
        return NOD_E_PARSE;
    *out = (struct outcome){ .status = (nod_status)status };
    out->body = raw_of(v, STR("body"));
    out->message = json_get_str(v, STR("message"));
    out->details = raw_of(v, STR("details"));
    out->meta = raw_of(v, STR("meta"));
    out->error_id = json_get_str(v, STR("errorId"));
    const struct json *request_error = json_get(v, STR("requestError"));
    out->request_error = json_is(request_error, JSON_BOOL) && request_error->truth;
    out->error_data = raw_of(v, STR("errorData"));
    if (json_get(v, STR("rpcCode"))) { /* as it was written up to version 0.1.0 */
        out->request_error = true;
        out->error_data = raw_of(v, STR("rpcData"));
    }
    if (json_get(v, STR("code")))
        out->code = arena_str(arena, json_get_str(v, STR("code"))).at;
    return NOD_OK;
}
