/*
 * surface/page_try: a call without a client, to see the inbox work. Only with --demo.
 *
 * "Try it" on the empty page calls a tool of this server as whoever has pressed it: the first that
 * says it is destructive, or else the first that is not only for reading, with arguments that its
 * schema allows. Its question is then up in the inbox, because there is no client to ask. The
 * result goes nowhere; the page shows it with the answer.
 */
#include "base/mem.h"
#include "surface/inbox_inside.h"
#include "surface/page.h"

enum {
    TRY_CALLS_MAX = 16,     /* such calls at a time */
    TRY_ARGS_MAX = 1 << 20, /* memory to make the arguments of one */
};

struct try_call {
    struct caller caller; /* first */
    struct list link;     /* in inbox->tries */
    struct inbox *inbox;
};

static void forget(struct try_call *call)
{
    list_remove(&call->link);
    call->inbox->try_count--;
    mem_free(call);
}

static enum caller_way try_asked(struct caller *caller, struct call *call)
{
    (void)caller, (void)call;
    return CALLER_HOLDS;
}

static void try_notify(struct caller *caller, struct call *call, const struct notice *notice)
{
    (void)caller, (void)call, (void)notice;
}

static void try_finished(struct caller *caller, struct call *call, const struct outcome *outcome)
{
    (void)call, (void)outcome;
    forget((struct try_call *)caller);
}

static void try_unloaded(struct caller *caller)
{
    forget((struct try_call *)caller);
}

/* Nobody comes for the result: what there was to see has been seen. */
static bool try_is_there(const struct caller *caller)
{
    (void)caller;
    return true;
}

static const struct caller_ops try_ops = { .asked = try_asked,
                                           .notify = try_notify,
                                           .finished = try_finished,
                                           .there = try_is_there,
                                           .unloaded = try_unloaded };

/* --- which tool, with what --- */

static bool says(const struct json *descriptor, struct str hint)
{
    return json_true(json_get(json_get(descriptor, STR("annotations")), hint));
}

static struct target *choose_tool(const struct inbox *inbox, struct arena *arena,
                                  const struct json **schema)
{
    const struct catalog *catalog = inbox->opts.catalog;
    struct target *chosen = NULL;
    bool destructive = false;

    for (size_t i = 0; i < catalog_count(catalog, TARGET_TOOL, false) && !destructive; i++) {
        struct target *tool = catalog_at(catalog, TARGET_TOOL, false, i);
        const struct json *descriptor = json_parse(arena, tool->descriptor, NULL, NULL);
        if (!descriptor || says(descriptor, STR("readOnlyHint")))
            continue;
        destructive = says(descriptor, STR("destructiveHint"));
        if (chosen && !destructive)
            continue;
        chosen = tool;
        *schema = json_get(descriptor, STR("inputSchema"));
    }
    return chosen;
}

/* Something that the schema of one argument is likely to allow. */
static void write_example(struct json_writer *w, const struct json *schema)
{
    const struct json *first = json_at(json_get(schema, STR("enum")), 0);
    struct str type = json_get_str(schema, STR("type"));
    struct str format = json_get_str(schema, STR("format"));

    if (json_get(schema, STR("default")))
        jw_value(w, json_get(schema, STR("default")));
    else if (first || (first = json_get(json_at(json_get(schema, STR("oneOf")), 0), STR("const"))))
        jw_value(w, first);
    else if (str_eq(type, STR("boolean")))
        jw_bool(w, true);
    else if (str_eq(type, STR("array")))
        jw_raw(w, STR("[]"));
    else if (str_eq(type, STR("object")))
        jw_raw(w, STR("{}"));
    else if (json_get(schema, STR("minimum")))
        jw_value(w, json_get(schema, STR("minimum")));
    else if (str_eq(type, STR("integer")) || str_eq(type, STR("number")))
        jw_i64(w, 1);
    else if (str_eq(format, STR("email")))
        jw_str(w, STR("ada@example.com"));
    else if (str_eq(format, STR("uri")))
        jw_str(w, STR("https://example.com/"));
    else if (str_eq(format, STR("date")))
        jw_str(w, STR("2026-12-24"));
    else
        jw_str(w, STR("ada"));
}

static const struct json *make_arguments(const struct json *schema, struct arena *arena)
{
    const struct json *fields = json_get(schema, STR("properties"));
    const struct json *args;
    struct json_writer w;
    struct buf text;

    buf_init(&text, TRY_ARGS_MAX);
    json_writer_init(&w, &text);
    jw_object(&w);
    JSON_EACH (name, json_get(schema, STR("required"))) {
        jw_key(&w, name->text);
        write_example(&w, json_get(fields, name->text));
    }
    jw_end(&w);
    args = json_parse(arena, arena_str(arena, buf_str(&text)), NULL, NULL);
    buf_finish(&text);
    return args;
}

/* --- the route --- */

static void try_serve(const struct front_request *request, void *data)
{
    struct inbox *inbox = data;
    const struct json *schema = NULL;
    struct arena arena;

    if (inbox->try_count == TRY_CALLS_MAX) {
        api_problem(request->exchange, 429, STR("Enough calls wait already: answer one."));
        return;
    }
    arena_init(&arena, TRY_ARGS_MAX);
    struct target *tool = choose_tool(inbox, &arena, &schema);
    if (tool) {
        struct try_call *call = MEM_NEW(struct try_call);
        call->caller.ops = &try_ops;
        call->inbox = inbox;
        list_append(&inbox->tries, &call->link);
        inbox->try_count++;
        engine_call(inbox->opts.engine, &(struct call_spec){ .target = tool,
                                                             .args = make_arguments(schema, &arena),
                                                             .principal = request->principal,
                                                             .scope = request->principal,
                                                             .caller_record = STR("{}"),
                                                             .caller = &call->caller });
        http_reply_json(request->exchange, 202, STR("{}"));
    } else {
        api_problem(request->exchange, 404, STR("This server has no tool that could ask."));
    }
    arena_finish(&arena);
}

bool page_try_routes(struct inbox *inbox)
{
    return front_route(inbox->opts.front, &(struct route){ .method = STR("POST"),
                                                           .pattern = STR("/api/try"),
                                                           .who = ROLE_ASK,
                                                           .cookie = true,
                                                           .fetch_site = true,
                                                           .handle = try_serve,
                                                           .data = inbox });
}

void page_try_close(struct inbox *inbox)
{
    struct list *at;

    while ((at = list_first(&inbox->tries)))
        forget(LIST_OF(at, struct try_call, link));
}
