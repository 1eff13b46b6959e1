/*
 * mcp/later/view: the surface of clients that show views: see view.h.
 *
 * A question is offered by a record in the store, which views of its chat fetch from whatever node
 * (view_is_own). If none has within VIEW_SEEN_MS, the host shows no view while the call is held, or
 * its view cannot say which chat it is of: a second session, and every request of 2026 over HTTP.
 * So the call returns its pending result, whose handle opens the question, and the question stays
 * up here for the view that has the handle then. It is up in the next place as well, for hosts
 * whose views cannot fetch, and for views of the author's own that do not.
 *
 * Holds always: while a question is up here, its record is in the store, or being written.
 */
#include "base/crash.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/catalog.h"
#include "mcp/shared/live.h"
#include "mcp/later/pending.h"
#include "mcp/later/view_inside.h"

enum {
    VIEW_OFFERS_MAX = 100000,    /* questions that this node offers to views at the same time */
    VIEW_SEEN_MS = 10000,        /* by then a view has fetched the question, or none is shown */
    VIEW_ARGS_BYTES = 64 << 20,  /* memory of its arguments while their digest is made */
    VIEW_TIMEOUT_MS = 600000,    /* of our tools, which end by themselves long before */
    VIEW_LISTING_MAX = 64 << 10, /* memory of a listing while its schema is read */
};

struct view_offer {
    struct views *views;
    struct ask *ask;
    struct view_record record;
    struct timer timer; /* is it seen? */
    bool seen;
    char text[]; /* of the record: the tool, the request's id */
};

static struct views *views_of(struct surface *surface)
{
    return (struct views *)(void *)surface;
}

static struct view_offer *offer_find(const struct views *views, struct str ask_id)
{
    return map_get(&views->offers, ask_id);
}

/* --- can --- */

bool views_ask(const struct target *target, unsigned can)
{
    return client_has_views(can) && target->kind == TARGET_TOOL && !target->inside &&
           (target->asks || target->requires_confirmation || target->destructive ||
            target->view.len);
}

bool views_used(const struct mcp_server *server)
{
    const struct catalog *catalog = server->opts.catalog;

    for (size_t i = 0; i < catalog_count(catalog, TARGET_TOOL, false); i++) {
        const struct target *tool = catalog_at(catalog, TARGET_TOOL, false, i);
        if (views_ask(tool, CLIENT_CAN_VIEW))
            return true;
    }
    return false;
}

/* The call that the chat has made, and whose view it shows: see core/inner.c. */
static const struct call *chat_call(const struct call *call)
{
    const struct caller *caller = call_caller(call);

    return call_is_alone(call) || !caller->call ? call : caller->call;
}

static unsigned view_kinds(struct surface *surface, const struct call *call)
{
    (void)surface;
    return views_ask(call_target(chat_call(call)), call_client(call).asked)
               ? 1u << ASK_FORM | 1u << ASK_APPROVAL
               : 0;
}

static bool view_can(struct surface *surface, const struct call *call, enum ask_kind kind)
{
    return view_kinds(surface, call) & 1u << kind;
}

/* --- offers --- */

static void offer_free(struct view_offer *offer)
{
    map_remove(&offer->views->offers, view_ask_id(&offer->record));
    timer_stop(offer->views->server->opts.loop, &offer->timer);
    mem_free(offer);
}

bool view_is_up(const struct views *views, struct str ask_id)
{
    struct engine *engine = views->server->opts.engine;
    const struct ask *live = engine_ask(engine, ask_id);

    /* It may be the next one's turn already: who answers late is still heard. */
    return !live || engine_asks_on(engine, ask_record(live), &views->surface);
}

void view_over(struct views *views, const struct view_record *record)
{
    struct view_offer *offer = offer_find(views, view_ask_id(record));
    struct view_record over = *record;

    over.over = true;
    view_record_put(views->server, &over, STR_NONE, 0, VIEW_OVER_KEEP_MS, NULL, NULL);
    if (offer)
        offer_free(offer);
    view_questions_look(views, &over);
}

void view_seen(struct views *views, const struct view_record *record, int64_t expires_ms)
{
    struct view_offer *offer = offer_find(views, view_ask_id(record));
    struct view_record seen = *record;

    if (offer) {
        offer->seen = true;
        timer_stop(views->server->opts.loop, &offer->timer);
    }
    if (record->fetched_ms)
        return;
    seen.fetched_ms = server_now(views->server);
    view_record_put(views->server, &seen, STR_NONE, record->version, expires_ms - seen.fetched_ms,
                    NULL, NULL);
}

/* An offer that may be gone when the store has replied: it is found again by its ask. */
static struct id *ask_kept(const struct view_offer *offer)
{
    struct id *ask = MEM_NEW(struct id);

    memcpy(ask->text, view_ask_id(&offer->record).at, ID_LEN);
    return ask;
}

static struct view_offer *offer_kept(struct mcp_server *server, struct id *ask)
{
    struct view_offer *offer = server ? offer_find(server->views, id_str(ask)) : NULL;

    mem_free(ask);
    return offer;
}

static void seen_known(struct mcp_server *server, void *data, nod_status status,
                       const struct view_record *record)
{
    struct view_offer *offer = offer_kept(server, data);

    (void)status;
    if (!offer || offer->seen)
        return;
    offer->seen = true; /* decided */
    if (record && record->fetched_ms)
        return; /* it was seen on another node */
    /* The host shows no view, or not yet: whoever made the call is told how to come back. */
    struct ask *ask = offer->ask;
    ask_offered(ask, &server->views->surface, OFFER_UNSEEN);
    struct caller *caller = call_caller(ask_call(ask));
    if (caller->ops->unseen)
        caller->ops->unseen(caller);
}

static void seen_due(void *data)
{
    struct view_offer *offer = data;

    view_record_get(offer->views->server, offer->record.key, seen_known, ask_kept(offer));
}

static void offer_put(struct mcp_server *server, void *data, nod_status status)
{
    struct view_offer *offer = offer_kept(server, data);

    if (!offer)
        return;
    if (status == NOD_OK) {
        CRASH_POINT(view_after);
        view_questions_look(server->views, &offer->record);
        return;
    }
    struct ask *ask = offer->ask;
    offer_free(offer);
    ask_offered(ask, &server->views->surface, OFFER_REFUSED);
}

/* The question may have been up before, on another node or before a restart: then a view has its
 * nonce. */
static void offer_known(struct mcp_server *server, void *data, nod_status status,
                        const struct view_record *record)
{
    struct id *ask = data;
    struct view_offer *offer = server ? offer_find(server->views, id_str(ask)) : NULL;

    if (!offer) {
        mem_free(ask);
        return;
    }
    if (status == NOD_OK && !record->over) {
        memcpy(offer->record.nonce, record->nonce, sizeof(record->nonce));
        offer->record.fetched_ms = record->fetched_ms;
    }
    const struct ask_record *asked = ask_record(offer->ask);
    CRASH_POINT(view_before);
    int64_t left = asked->expires_ms ? asked->expires_ms - server_now(server) : asked->ttl_ms;
    view_record_put(server, &offer->record, asked->principal, 0, left, offer_put, ask);
}

/* What views are told apart by, if their hosts tell them the arguments. */
static void args_of(const struct call *call, char out[VIEW_ARGS_LEN + 1])
{
    struct str text = call_args(call);
    struct arena arena;

    arena_init(&arena, VIEW_ARGS_BYTES);
    const struct json *args = json_parse(&arena, text.len ? text : STR("{}"), NULL, NULL);
    if (args)
        view_args(args, out);
    arena_finish(&arena);
}

static struct view_offer *offer_make(struct views *views, struct ask *ask)
{
    const struct ask_record *record = ask_record(ask);
    const struct caller *caller = call_caller(ask_call(ask));
    const struct call *call = chat_call(ask_call(ask));
    struct str tool = call_target(call)->name;
    struct str request = caller->ops->request ? caller->ops->request(caller) : STR_NONE;
    struct view_offer *offer = mem_zalloc(sizeof(*offer) + tool.len + request.len);
    char *text = offer->text;
    struct id secret;

    offer->views = views;
    offer->ask = ask;
    id_random(&secret);
    view_key(record->principal, record->id, offer->record.key);
    memcpy(offer->record.nonce, view_ask_id(&offer->record).at, ID_LEN);
    memcpy(offer->record.nonce + ID_LEN, secret.text, ID_LEN);
    offer->record.call = id_of(call_id(call));
    offer->record.tool = str_place(&text, tool);
    offer->record.request = str_place(&text, request);
    args_of(call, offer->record.args);
    view_chat(views, ask_call(ask), record->principal, offer->record.chat);
    if (map_set(&views->offers, view_ask_id(&offer->record), offer))
        return offer;
    mem_free(offer);
    return NULL;
}

static void view_offer_up(struct surface *surface, struct ask *ask, int attempt,
                          struct str problems)
{
    struct views *views = views_of(surface);
    struct mcp_server *server = views->server;
    const struct ask_record *record = ask_record(ask);

    (void)attempt, (void)problems;
    if (offer_find(views, record->id)) {
        ask_offered(ask, surface, OFFER_SHOWN);
        return;
    }
    struct view_offer *offer =
        record->id.len == ID_LEN && !record->approver ? offer_make(views, ask) : NULL;
    if (!offer) {
        ask_offered(ask, surface, OFFER_UNRENDERED);
        return;
    }
    timer_set(server->opts.loop, &offer->timer, VIEW_SEEN_MS, seen_due, offer);
    view_record_get(server, offer->record.key, offer_known, ask_kept(offer));
    ask_offered(ask, surface, OFFER_SHOWN);
}

/* If it still waits, the call goes on elsewhere, and views can answer it as before. */
static void view_withdraw(struct surface *surface, struct ask *ask, struct str why,
                          const struct winner *winner)
{
    struct views *views = views_of(surface);
    struct view_offer *offer = offer_find(views, ask_record(ask)->id);

    (void)why;
    if (offer && winner->state == ASK_PENDING)
        offer_free(offer);
    else if (offer)
        view_over(views, &offer->record);
}

/* Over HTTP without tokens any process of the machine could open a session and be its view. */
static bool view_consents(const struct surface *surface, struct str principal)
{
    const struct views *views = (const struct views *)(const void *)surface;
    const struct mcp_opts *opts = &views->server->opts;

    for (const char *const *name = opts->no_view_consent; name && *name; name++)
        if (str_eq(str_of(*name), principal))
            return false;
    return opts->view_consent || !views->server->front || server_has_tokens(views->server);
}

static const struct surface_ops view_ops = {
    .name = "view",
    .can = view_can,
    .kinds = view_kinds,
    .offer = view_offer_up,
    .withdraw = view_withdraw,
    .client = true,
    .apart = true,
    .consents = view_consents,
};

bool views_show(const struct mcp_server *server, const struct call *call)
{
    for (struct ask *ask = call_ask_first(call); ask; ask = call_ask_next(call, ask))
        if (ask_is_up_on(ask, &server->views->surface))
            return true;
    return false;
}

/* --- the tools --- */

/* While the store is away a call of these tools may outlive the server, and with it its target. */
static void views_free(struct views *views)
{
    if (!views->gone || views->questions.target.in_use || views->answer.target.in_use ||
        views->page.target.in_use)
        return;
    schema_destroy((struct schema *)(uintptr_t)views->questions.target.input);
    schema_destroy((struct schema *)(uintptr_t)views->answer.target.input);
    buf_finish(&views->html);
    mem_free(views);
}

void view_released(struct own_tool *tool)
{
    views_free(tool->data);
}

static bool is_listed(const struct target *target, const struct audience *audience)
{
    return audience->views && views_used(own_tool_of(target)->server);
}

static const char questions_listing[] =
    "{\"name\":\"nodQuestions\",\"title\":\"Questions for a person\",\"description\":"
    "\"For the view of a tool: the questions that wait for the person, or nothing after 20 "
    "seconds.\",\"inputSchema\":{\"type\":\"object\",\"properties\":{"
    "\"tool\":{\"type\":\"string\"},\"arguments\":{\"type\":\"object\"},"
    "\"requestId\":{\"type\":[\"string\",\"integer\"]},\"callId\":{\"type\":\"string\"},"
    "\"known\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"maxItems\":64},\"now\":{"
    "\"type\":\"boolean\"}}},"
    "\"annotations\":{\"title\":\"Questions for a person\",\"readOnlyHint\":true,"
    "\"openWorldHint\":false},\"_meta\":{\"ui\":{\"visibility\":[\"app\"]}}}";

static const char answer_listing[] =
    "{\"name\":\"nodAnswer\",\"title\":\"The answer of a person\",\"description\":"
    "\"For the view of a tool: what the person has answered to one of its questions.\","
    "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"nonce\":{\"type\":\"string\"},"
    "\"action\":{\"type\":\"string\",\"enum\":[\"accept\",\"decline\",\"cancel\"]},"
    "\"content\":{\"type\":[\"object\",\"string\"],\"description\":\"An object, or its JSON as "
    "text\"},\"reason\":{\"type\":\"string\"}},\"required\":[\"nonce\",\"action\"],"
    "\"additionalProperties\":false},"
    "\"annotations\":{\"title\":\"The answer of a person\",\"readOnlyHint\":false,"
    "\"idempotentHint\":true,\"openWorldHint\":false},"
    "\"_meta\":{\"ui\":{\"visibility\":[\"app\"]}}}";

static const char page_listing[] =
    "{\"uri\":\"ui://nod/ask\",\"name\":\"ask\",\"title\":\"Questions of tools\","
    "\"description\":\"Shows what a tool asks a person, and takes the "
    "answer\",\"mimeType\":\"" VIEW_MIME
    "\",\"_meta\":{\"ui\":{\"csp\":{\"connectDomains\":[],\"resourceDomains\":[],"
    "\"frameDomains\":[],\"baseUriDomains\":[]},\"prefersBorder\":true}}}";

/* The schema of the arguments, as it is listed. NULL: it takes none. */
static struct schema *input_of(const char *listing)
{
    struct schema_problems problems = { 0 };
    struct arena arena;

    arena_init(&arena, VIEW_LISTING_MAX);
    const struct json *schema =
        json_get(json_parse(&arena, str_of(listing), NULL, NULL), STR("inputSchema"));
    struct schema *input = schema ? schema_compile(schema, NULL, &arena, &problems) : NULL;
    arena_finish(&arena);
    return input;
}

static bool add(struct views *views, struct own_tool *tool, const struct own_tool_ops *ops,
                enum target_kind kind, struct str name, const char *listing)
{
    *tool = (struct own_tool){ .ops = ops,
                               .data = views,
                               .target = { .kind = kind,
                                           .name = name,
                                           .title = name,
                                           .descriptor = str_of(listing),
                                           .input = input_of(listing),
                                           .listed = is_listed,
                                           .inside = true,
                                           .timeout_ms = VIEW_TIMEOUT_MS } };
    if (own_tool_add(tool, views->server))
        return true;
    LOG_WARN("this server has one of its own: questions cannot be asked in views",
             LOG_STR("name", name));
    return false;
}

/* --- life --- */

struct views *views_create(struct mcp_server *server)
{
    struct views *views = MEM_NEW(struct views);

    views->surface.ops = &view_ops;
    views->server = server;
    map_init(&views->offers, VIEW_OFFERS_MAX);
    list_init(&views->waits);
    list_init(&views->answers);
    view_page_make(views);
    bool questions = add(views, &views->questions, &view_questions_ops, TARGET_TOOL,
                         STR("nodQuestions"), questions_listing);
    bool answer =
        add(views, &views->answer, &view_answer_ops, TARGET_TOOL, STR("nodAnswer"), answer_listing);
    bool page = add(views, &views->page, &view_page_ops, TARGET_RESOURCE, VIEW_URI, page_listing);
    if (questions && answer && page)
        engine_add_surface(server->opts.engine, &views->surface);
    return views;
}

void views_stop(struct views *views)
{
    view_questions_stop(views);
}

void views_drop(struct views *views)
{
    view_questions_drop(views);
    view_answers_drop(views);
}

void views_destroy(struct views *views)
{
    struct view_offer *offer;

    for (size_t at = 0; (offer = map_next(&views->offers, &at));)
        offer_free(offer);
    map_finish(&views->offers);
    own_tool_remove(&views->questions);
    own_tool_remove(&views->answer);
    own_tool_remove(&views->page);
    views->gone = true;
    views_free(views);
}
