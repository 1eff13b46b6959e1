/*
 * mcp/era2026/ask: writes asks as inputRequests, and reads inputResponses.
 *
 * Nothing is sent that the client did not declare, and nothing that this era does not know: no
 * elicitationId, no mode but form and url. A response that does not have the shape its question
 * wants is no answer at all, and is never consent.
 */
#include "mcp/era2026/ask.h"

#include "base/mem.h"
#include "json/form.h"
#include "mcp/shared/question_message.h"
#include "mcp/shared/server_inside.h"

enum { ASK2026_ARENA_MAX = 8 << 20 }; /* memory of a question while it is written */

/* --- the surface --- */

struct ask2026_surface {
    struct surface surface; /* first */
    const struct engine *engine;
};

/* What the client of this call is asked in results. */
static uint8_t asked_of(const struct call *call)
{
    return call_caller(call)->ops->carries ? call_client(call).asked : 0;
}

static unsigned surface_kinds(struct surface *surface, const struct call *call)
{
    (void)surface;
    return client_ask_kinds(asked_of(call));
}

static bool surface_can(struct surface *surface, const struct call *call, enum ask_kind kind)
{
    return surface_kinds(surface, call) & 1u << kind;
}

/* Callers of this era carry their asks themselves. One that holds waits for another surface. */
static void surface_offer(struct surface *surface, struct ask *ask, int attempt,
                          struct str problems)
{
    const struct engine *engine = ((struct ask2026_surface *)(void *)surface)->engine;
    bool drawn = ask2026_can(engine, asked_of(ask_call(ask)), ask_record(ask));

    (void)attempt, (void)problems;
    ask_offered(ask, surface, drawn ? OFFER_SHOWN : OFFER_UNRENDERED);
}

static void surface_withdraw(struct surface *surface, struct ask *ask, struct str why,
                             const struct winner *winner)
{
    (void)surface, (void)ask, (void)why, (void)winner; /* the next result simply does not have it */
}

static const struct surface_ops ask2026_ops = {
    .name = "mrtr",
    .can = surface_can,
    .kinds = surface_kinds,
    .offer = surface_offer,
    .withdraw = surface_withdraw,
    .attempts = ASK2026_ATTEMPTS,
    .client = true,
};

struct surface *ask2026_surface_create(const struct engine *engine)
{
    struct ask2026_surface *made = MEM_NEW(struct ask2026_surface);

    made->surface.ops = &ask2026_ops;
    made->engine = engine;
    return &made->surface;
}

void ask2026_surface_destroy(struct surface *surface)
{
    mem_free(surface);
}

/* --- drawing --- */

bool ask2026_can(const struct engine *engine, uint8_t can, const struct ask_record *ask)
{
    if (!(client_ask_kinds(can) & 1u << ask->kind) ||
        (ask->page && !engine_has_page(engine, ask->page)))
        return false;
    return ask->kind != ASK_SAMPLE || can & CLIENT_CAN_SAMPLE_TOOLS ||
           (str_find(ask->detail, STR("\"tools\"")) < 0 &&
            str_find(ask->detail, STR("\"toolChoice\"")) < 0);
}

#define ELICITATION(mode)                                                                          \
    STR("{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"" mode "\",\"message\":")

/* Few forms have parts that are not sent (json/form.c): only those are parsed. */
static void write_schema(struct json_writer *w, struct str detail)
{
    struct schema_problems problems = { 0 };
    struct arena arena;

    if (str_find(detail, STR("\"pattern\"")) < 0 && str_find(detail, STR("\"$schema\"")) < 0) {
        jw_raw(w, detail);
        return;
    }
    arena_init(&arena, ASK2026_ARENA_MAX);
    const struct json *schema = json_parse(&arena, detail, NULL, NULL);
    const struct json *sent =
        schema ? form_for_revision(schema, FORM_2026_07_28, &arena, &problems) : NULL;
    if (sent)
        jw_value(w, sent);
    else
        jw_raw(w, detail);
    arena_finish(&arena);
}

static void write_elicitation(struct json_writer *w, const struct mcp_server *server,
                              const struct ask_record *ask, struct str problems)
{
    bool url = ask->kind == ASK_URL;
    struct arena arena;

    arena_init(&arena, ASK2026_ARENA_MAX);
    jw_open(w, url ? ELICITATION("url") : ELICITATION("form"), 2);
    jw_str(w, question_message(server, &arena, ask, problems));
    if (url) {
        jw_key_str(w, STR("url"), ask_url(server->opts.engine, ask, &arena));
    } else {
        jw_key(w, STR("requestedSchema"));
        write_schema(w, ask->detail.len ? ask->detail
                                        : STR("{\"type\":\"object\",\"properties\":{}}"));
    }
    jw_close(w, 2);
    arena_finish(&arena);
}

bool ask2026_write(struct json_writer *w, const struct mcp_server *server,
                   const struct ask_record *ask, struct str problems)
{
    switch (ask->kind) {
    case ASK_FORM:
    case ASK_APPROVAL:
    case ASK_URL:
        write_elicitation(w, server, ask, problems);
        break;
    case ASK_SAMPLE:
        jw_open(w, STR("{\"method\":\"sampling/createMessage\",\"params\":"), 1);
        jw_raw(w, ask->detail.len ? ask->detail : STR("{}"));
        jw_close(w, 1);
        break;
    case ASK_ROOTS:
        jw_raw(w, STR("{\"method\":\"roots/list\",\"params\":{}}"));
        break;
    case ASK_CALL: /* no client is asked it */
        return false;
    }
    return !w->failed;
}

/* --- reading --- */

bool ask2026_read(const struct ask_record *ask, const struct json *response, struct answer *out)
{
    *out = (struct answer){ .action = ASK_ACCEPTED, .by = ask->principal };
    if (!json_is(response, JSON_OBJECT))
        return false;
    switch (ask->kind) {
    case ASK_SAMPLE:
        out->content = response;
        return json_is(json_get(response, STR("role")), JSON_STRING) &&
               json_get(response, STR("content"));
    case ASK_ROOTS:
        out->content = response;
        return json_is(json_get(response, STR("roots")), JSON_ARRAY);
    case ASK_CALL:
        return false;
    case ASK_FORM:
    case ASK_APPROVAL:
    case ASK_URL:
        break;
    }
    const struct json *action = NULL, *content = NULL;
    JSON_EACH (member, response) {
        if (str_eq(member->key, STR("action")))
            action = member;
        else if (str_eq(member->key, STR("content")))
            content = json_is(member, JSON_NULL) ? NULL : member; /* null counts as no content */
    }
    if (!ask_action_read(json_str(action), &out->action) ||
        (content && !json_is(content, JSON_OBJECT)))
        return false;
    if (out->action == ASK_ACCEPTED && ask->kind != ASK_URL)
        out->content = content;
    return true;
}

bool ask2026_same(const struct entry *entry, const struct json *response, struct arena *arena)
{
    enum ask_state action;
    const struct json *given = response;

    if ((entry->state != ASK_ACCEPTED && entry->state != ASK_DECLINED &&
         entry->state != ASK_CANCELLED) ||
        str_eq(entry->by, STR("nod")))
        return true; /* no person answered: there is nothing to compare with */
    if (json_get(response, STR("action"))) {
        if (!ask_action_read(json_get_str(response, STR("action")), &action) ||
            action != entry->state)
            return false;
        given = json_get(response, STR("content"));
    } else if (entry->state != ASK_ACCEPTED) {
        return false;
    }
    if (entry->state != ASK_ACCEPTED || entry->content.len == 0)
        return true; /* nothing was taken from it */
    const struct json *taken = json_parse(arena, entry->content, NULL, NULL);
    if ((!given || json_is(given, JSON_NULL)) && json_is(taken, JSON_OBJECT) && !json_first(taken))
        return true; /* no content is the same as empty content */
    return taken && json_equal(taken, given);
}
