/*
 * surface/hosted_draw: what a page of one question is told, as JSON.
 *
 * The page itself (web/hosted.html) is the same for everybody and says nothing of anybody. Its
 * script (web/hosted.js) asks for this, and draws it: whose question it is and who is signed in,
 * the question, and its form, or how it ended.
 *
 * The answer's content is not shown again: the page may be open on a screen that others see.
 */
#include "surface/api.h"
#include "surface/hosted.h"

/* --- how it ended --- */

static struct str end_of(const struct ask_record *ask, bool over)
{
    switch (ask->state) {
    case ASK_ACCEPTED:
        return hosted_kind_of(ask)->done;
    case ASK_DECLINED:
        return STR("This was declined, and the agent was told.");
    case ASK_CANCELLED:
        return STR("This was dismissed, and is no longer asked.");
    case ASK_EXPIRED:
        return STR("The time for this is over: nobody answered.");
    case ASK_PENDING:
        return over ? STR("The time for this is over: nobody answered.") : STR_NONE;
    default:
        return STR("This is no longer asked: the call has ended.");
    }
}

/* The visit brings an answer, and another one counts. */
static bool is_too_late(const struct hosted_visit *visit)
{
    return visit->submits && !visit->counted;
}

static struct str outcome_of(struct hosted_visit *visit)
{
    if (is_too_late(visit) && !visit->same && visit->ask.state == ASK_ACCEPTED)
        return STR("This was answered before. What you have sent now was not taken.");
    struct str end = end_of(&visit->ask, hosted_is_over(visit));
    struct str undone = hosted_kind_of(&visit->ask)->undone;

    if (!end.len || !undone.len || visit->ask.state == ASK_ACCEPTED)
        return end;
    return arena_fmt(&visit->arena, STR_FMT STR_FMT, STR_ARG(end), STR_ARG(undone));
}

/* --- what the script is told --- */

void hosted_draw(struct hosted_visit *visit)
{
    const struct hosted_opts *opts = hosted_opts(visit->hosted);
    const struct ask_record *ask = &visit->ask;
    const struct hosted_kind *kind = hosted_kind_of(ask);
    const struct target *tool =
        catalog_for(opts->catalog, ask->principal, TARGET_TOOL, ask->target);
    bool over = hosted_is_over(visit);
    struct json_writer w;
    struct buf data;

    buf_init(&data, HOSTED_REPLY_MAX);
    json_writer_init(&w, &data);
    jw_object(&w);
    jw_key_str(&w, STR("kind"), kind->name);
    jw_key_str(&w, STR("state"),
               over && ask->state == ASK_PENDING ? ask_state_name(ASK_EXPIRED)
                                                 : ask_state_name(ask->state));
    jw_key_str(&w, STR("outcome"), outcome_of(visit));
    jw_key_str(&w, STR("id"), ask->id);
    jw_key_str(&w, STR("principal"), ask->principal);
    api_key_str_or_null(&w, STR("me"), visit->by_link ? STR_NONE : visit->principal);
    jw_key_str(&w, STR("tool"), tool && tool->title.len ? tool->title : ask->target);
    jw_key_str(&w, STR("message"), ask->message);
    jw_key_bool(&w, STR("consent"), ask->consent);
    jw_key_bool(&w, STR("destructive"), tool && tool->destructive);
    jw_key_time(&w, STR("expiresAt"), ask->expires_ms);
    jw_key_time(&w, STR("now"), engine_now(opts->engine));
    if (visit->go.len)
        jw_key_str(&w, STR("go"), visit->go);
    if (!over && kind->draw)
        kind->draw(visit, &w);
    jw_end(&w);
    if (json_writer_done(&w))
        http_reply_json(visit->exchange, is_too_late(visit) ? 409 : 200, buf_str(&data));
    else
        api_problem(visit->exchange, 500, STR("The page could not be drawn."));
    buf_finish(&data);
}
