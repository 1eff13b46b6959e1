/*
 * surface/webhook_body: what a webhook is sent.
 *
 *     { "type": "elicitation.created" or "elicitation.ended",
 *       "timestamp": when it happened,
 *       "data": { "id", "executionId", "kind", "state", "tool", "principal", "askedAt",
 *                 "expiresAt", "link",
 *                 "answer": { "action", "by", "via", "at" } (if it has ended) } }
 *
 * The names are those of the API. A body is made from records alone, so the same event has the same
 * body whenever and wherever it is made. It holds nothing that a person or a tool has written,
 * except names, unless the operator wants the question in it; an answer's content is never in it.
 */
#include <stdio.h>

#include "surface/api.h"
#include "surface/webhook_inside.h"

enum {
    LINK_MAX = 4096,    /* memory for a link */
    LINK_PATH_MAX = 64, /* bytes of its path */
};

static void write_link(struct json_writer *w, const struct front *front, struct str id)
{
    char path[LINK_PATH_MAX];
    struct arena arena;

    if (!front)
        return;
    arena_init(&arena, LINK_MAX);
    snprintf(path, sizeof(path), "/ask/" STR_FMT, STR_ARG(id));
    jw_key_str(w, STR("link"), front_link(front, str_of(path), &arena));
    arena_finish(&arena);
}

static bool write_body(struct buf *out, const struct webhooks *all, const struct ask_record *ask,
                       const struct call_record *call, enum webhook_event event, bool question)
{
    bool ended = event == WEBHOOK_ENDED;
    struct json_writer w;

    json_writer_init(&w, out);
    jw_object(&w);
    jw_key_str(&w, STR("type"), ended ? STR("elicitation.ended") : STR("elicitation.created"));
    jw_key_time(&w, STR("timestamp"), ended ? ask->ended_ms : ask->asked_ms);
    jw_key(&w, STR("data"));
    jw_object(&w);
    jw_key_str(&w, STR("id"), ask->id);
    jw_key_str(&w, STR("executionId"), ask->call_id);
    jw_key_str(&w, STR("kind"), api_kind(ask->kind));
    jw_key_str(&w, STR("state"), ask_state_name(ended ? ask->state : ASK_PENDING));
    jw_key_str(&w, STR("tool"), ask->target);
    jw_key_str(&w, STR("principal"), ask->principal);
    jw_key_time(&w, STR("askedAt"), ask->asked_ms);
    jw_key_time(&w, STR("expiresAt"), ask->expires_ms);
    write_link(&w, all->opts.front, ask->id);
    if (ended) {
        api_write_answer(&w, ask);
        jw_end(&w);
    }
    if (question) {
        jw_key_str(&w, STR("message"), ask->message);
        jw_key_raw(&w, STR("arguments"), call && call->args.len ? call->args : STR("{}"));
    } else if (all->opts.content) {
        jw_key_bool(&w, STR("truncated"), true);
    }
    jw_close(&w, 2);
    return json_writer_done(&w);
}

struct str webhook_body(const struct webhooks *all, const struct ask_record *ask,
                        const struct call_record *call, enum webhook_event event)
{
    struct buf body;

    buf_init(&body, WEBHOOK_BODY_MAX);
    if (!write_body(&body, all, ask, call, event, all->opts.content) && all->opts.content) {
        buf_clear(&body);
        write_body(&body, all, ask, NULL, event, false);
    }
    return buf_take(&body);
}
