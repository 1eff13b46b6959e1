/*
 * surface/hosted_draw: a page as HTML, and what a submission is told.
 *
 * The page is drawn with its question in it, so there is something to read without a script. The
 * script (web/hosted.js) reads the rest from a block of JSON, and draws the form. How an ask ended
 * is drawn here alone.
 *
 * The answer's content is not shown again: the page may be open on a screen that others see.
 */
#include "surface/api.h"
#include "surface/hosted.h"
#include "surface/page.h"

enum {
    HOSTED_REFUSAL_MAX = 2048,         /* bytes of why somebody is not let in */
    HOSTED_REFUSAL_ARENA = 256 * 1024, /* memory for drawing that */
};

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

static bool is_over(const struct hosted_visit *visit)
{
    return visit->ask.state != ASK_PENDING ||
           engine_now(hosted_opts(visit->hosted)->engine) >= visit->ask.expires_ms;
}

static const struct target *tool_of(const struct hosted_visit *visit)
{
    return catalog_find(hosted_opts(visit->hosted)->catalog, TARGET_TOOL, visit->ask.target);
}

static struct str outcome_of(struct hosted_visit *visit)
{
    struct str end = end_of(&visit->ask, is_over(visit));
    struct str undone = hosted_kind_of(&visit->ask)->undone;

    if (!end.len || !undone.len || visit->ask.state == ASK_ACCEPTED)
        return end;
    return arena_fmt(&visit->arena, STR_FMT STR_FMT, STR_ARG(end), STR_ARG(undone));
}

/* --- what the script is told --- */

static void write_data(struct hosted_visit *visit, struct json_writer *w)
{
    const struct ask_record *ask = &visit->ask;
    const struct hosted_kind *kind = hosted_kind_of(ask);
    const struct target *tool = tool_of(visit);
    bool over = is_over(visit);

    jw_object(w);
    jw_key_str(w, STR("kind"), kind->name);
    jw_key_str(w, STR("state"),
               over && ask->state == ASK_PENDING ? ask_state_name(ASK_EXPIRED)
                                                 : ask_state_name(ask->state));
    jw_key_str(w, STR("outcome"), outcome_of(visit));
    jw_key_str(w, STR("id"), ask->id);
    jw_key_str(w, STR("message"), ask->message);
    jw_key_bool(w, STR("consent"), ask->consent);
    jw_key_bool(w, STR("destructive"), tool && tool->destructive);
    api_key_time(w, STR("expiresAt"), ask->expires_ms);
    api_key_time(w, STR("now"), engine_now(hosted_opts(visit->hosted)->engine));
    if (!over) {
        jw_key_str(w, STR("csrf"), visit->csrf);
        if (kind->draw)
            kind->draw(visit, w);
    }
    jw_end(w);
}

/* JSON between the tags of a script: nothing in it may end that. */
static struct str inside_script(struct arena *arena, struct str json)
{
    struct buf out;

    buf_init(&out, PAGE_MAX);
    for (size_t i = 0; i < json.len; i++)
        if (json.at[i] == '<')
            buf_add(&out, STR("\\u003c"));
        else
            buf_add_char(&out, json.at[i]);
    struct str copy = arena_str(arena, buf_str(&out));
    buf_finish(&out);
    return copy;
}

/* --- the page --- */

/* Whoever comes back from another page does so with what it said. */
static struct str back_here(struct hosted_visit *visit)
{
    struct buf next;

    buf_init(&next, HOSTED_URL_MAX);
    front_next(visit->http, &next);
    struct str query = page_as_text(&visit->arena, buf_str(&next), HOSTED_URL_MAX);
    buf_finish(&next);
    return query;
}

static void draw_page(struct hosted_visit *visit, int status, struct str who, struct str message,
                      struct str outcome, struct str data)
{
    const struct hosted_opts *opts = hosted_opts(visit->hosted);
    struct arena *arena = &visit->arena;
    struct str title =
        page_as_text(arena, opts->title.len ? opts->title : opts->name, PAGE_TITLE_MAX);
    const struct place places[] = {
        { STR("base"), page_base(opts->front, arena) },
        { STR("title"), title },
        { STR("who"), who },
        { STR("message"), message },
        { STR("outcome"), outcome },
        { STR("over"), outcome.len ? STR_NONE : STR(" hidden") },
        { STR("open"), outcome.len ? STR(" hidden") : STR_NONE },
        { STR("again"), STR(" hidden") },
        { STR("other"), status == 404 ? STR_NONE : STR(" hidden") },
        { STR("next"), status == 404 ? back_here(visit) : STR_NONE },
        { STR("data"), data },
    };

    page_reply(visit->exchange, status, STR("hosted.html"), places,
               sizeof(places) / sizeof(places[0]));
}

static struct str asks_whom(struct hosted_visit *visit)
{
    const struct ask_record *ask = &visit->ask;
    const struct target *tool = tool_of(visit);
    struct arena *arena = &visit->arena;
    struct str name =
        page_as_text(arena, tool && tool->title.len ? tool->title : ask->target, PAGE_TITLE_MAX);
    struct str who = page_as_text(arena, ask->principal, PAGE_TITLE_MAX);

    return arena_fmt(
        arena, "<b><bdi>" STR_FMT "</bdi></b>%s \xc2\xb7 asked of <bdi>" STR_FMT "</bdi>",
        STR_ARG(name),
        tool && tool->destructive ? " <span class=\"tag\">\xe2\x96\xb2 Destructive</span>" : "",
        STR_ARG(who));
}

void hosted_draw(struct hosted_visit *visit)
{
    struct arena *arena = &visit->arena;
    struct json_writer w;
    struct buf data;

    buf_init(&data, HOSTED_REPLY_MAX);
    json_writer_init(&w, &data);
    write_data(visit, &w);
    if (!json_writer_done(&w))
        hosted_draw_refusal(visit, 500, STR("The page could not be drawn."));
    else if (visit->is_page)
        draw_page(visit, 200, asks_whom(visit),
                  page_as_text(arena, visit->ask.message, HOSTED_MESSAGE_MAX), outcome_of(visit),
                  inside_script(arena, buf_str(&data)));
    else
        http_reply_json(visit->exchange, visit->counted ? 200 : 409, buf_str(&data));
    buf_finish(&data);
}

void hosted_draw_refusal(struct hosted_visit *visit, int status, struct str why)
{
    draw_page(visit, status, STR_NONE, STR_NONE, page_as_text(&visit->arena, why, PAGE_MAX),
              STR("{}"));
}

/* The page is one level below the root, whatever is before that. */
void hosted_write_refusal(struct buf *body, int status, struct str why, struct str next)
{
    struct arena arena;

    arena_init(&arena, HOSTED_REFUSAL_ARENA);
    const struct place places[] = {
        { STR("base"), STR("..") },
        { STR("title"), STR("This page cannot be opened") },
        { STR("outcome"), page_as_text(&arena, why, HOSTED_REFUSAL_MAX) },
        { STR("open"), STR(" hidden") },
        { STR("close"), status == 503 ? STR(" hidden") : STR_NONE },
        { STR("again"), status == 503 ? STR_NONE : STR(" hidden") },
        { STR("other"), status == 403 ? STR_NONE : STR(" hidden") },
        { STR("next"), page_as_text(&arena, next, HOSTED_REFUSAL_MAX * 2) },
        { STR("data"), STR("{}") },
    };
    page_fill(body, STR("hosted.html"), places, sizeof(places) / sizeof(places[0]));
    arena_finish(&arena);
}
