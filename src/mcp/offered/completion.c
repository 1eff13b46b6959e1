/*
 * mcp/offered/completion: suggestions for an argument of a prompt or of a resource template.
 *
 * A provider may suggest at once, as C handlers do, or later. Then the request is held, for a
 * bounded time. It may be cancelled, and its client or its session may go; the provider is not
 * waited for then, and what it brings is dropped.
 *
 * Holds always: the request is answered once. A completion is freed when its provider has finished
 * it, whatever has become of the request, the server or the target.
 */
#include "base/mem.h"
#include "core/catalog.h"
#include "mcp/offered/lists.h"
#include "mcp/offered/methods.h"
#include "mcp/shared/work.h"

enum {
    COMPLETION_SENT_MAX = 100,       /* suggestions that are sent for one completion */
    COMPLETION_ARENA_MAX = 16 << 20, /* bytes of what was typed, and of what is suggested */
};

static struct target *allowed(const struct request *request, struct target *target)
{
    return target && lists_allow(request, target) ? target : NULL;
}

/* The prompt or template that params.ref names, or NULL after an error reply. */
static struct target *find_ref(struct request *request)
{
    const struct json *ref = json_get(request->params, STR("ref"));
    const struct catalog *catalog = request->server->opts.catalog;
    struct str type = json_get_str(ref, STR("type"));
    struct target *target = NULL;

    if (str_eq(type, STR("ref/prompt"))) {
        target = allowed(request, catalog_for(catalog, request->sender, TARGET_PROMPT,
                                              json_get_str(ref, STR("name"))));
        if (!target)
            reply_error(request, RPC_INVALID_PARAMS,
                        STR("params.ref names no prompt of this server."));
    } else if (str_eq(type, STR("ref/resource"))) {
        struct str uri = json_get_str(ref, STR("uri"));
        target = catalog_template_for(catalog, request->sender, uri);
        if (!target)
            target = catalog_for(catalog, request->sender, TARGET_RESOURCE, uri);
        target = allowed(request, target);
        if (!target)
            reply_error(request, RPC_INVALID_PARAMS,
                        STR("params.ref names no resource or template of this server."));
    } else {
        reply_error(request, RPC_INVALID_PARAMS,
                    STR("params.ref.type must be \"ref/prompt\" or \"ref/resource\"."));
    }
    return target;
}

static void write_values(struct request *request, const struct completion *completion)
{
    size_t total = completion->total > completion->count ? completion->total : completion->count;
    struct json_writer w;

    reply_begin(request, &w);
    jw_key(&w, STR("completion"));
    jw_object(&w);
    jw_key(&w, STR("values"));
    jw_array(&w);
    for (size_t i = 0; i < completion->count; i++)
        jw_str(&w, completion->values[i]);
    jw_end(&w);
    jw_key_i64(&w, STR("total"), (int64_t)total);
    jw_key_bool(&w, STR("hasMore"), total > completion->count);
    jw_end(&w);
    reply_end(request, &w);
}

static void completing_write(struct request *request, struct completion *completion,
                             nod_status status)
{
    if (status != NOD_OK && status != NOD_E_NOT_FOUND) {
        reply_error(request, RPC_INTERNAL_ERROR, STR("The suggestions could not be made."));
        return;
    }
    /* If an argument has no suggestions, the list is empty; that is not an error. */
    if (status == NOD_E_NOT_FOUND)
        completion->count = completion->total = 0;
    if (completion->count > COMPLETION_SENT_MAX)
        completion->count = COMPLETION_SENT_MAX;
    write_values(request, completion);
}

/* --- one that waits for its provider --- */

struct completing {
    struct server_work work; /* first; its server is NULL unless the request is held */
    struct completion completion;
    struct held held;
    struct arena arena;
    struct target *target; /* held */
    struct timer late;
    struct str id; /* of the request */
    bool modern;   /* of the 2026 era */
    bool asking;   /* the provider is being asked */
    bool done;     /* the provider has finished, while it was being asked */
    nod_status status;
};

static void completing_free(struct completing *completing)
{
    target_release(completing->target);
    arena_finish(&completing->arena);
    mem_free(completing);
}

/* The request is over. What the provider still has is freed when that is done. */
static void completing_over(struct completing *completing)
{
    struct mcp_server *server = completing->work.server;

    timer_stop(server->opts.loop, &completing->late);
    server_work_done(&completing->work);
    completing->work.server = NULL;
    completing->completion.given_up = true;
}

static void completing_answer(struct completing *completing, nod_status status, bool late)
{
    static const struct meta modern = { 0 };
    struct mcp_server *server = completing->work.server;
    struct request request = { .server = server,
                               .id = completing->id,
                               .meta = completing->modern ? &modern : NULL };

    if (late)
        reply_errorf(&request, RPC_INTERNAL_ERROR, "There were no suggestions within %lld ms.",
                     (long long)server->opts.completion_ms);
    else
        completing_write(&request, &completing->completion, status);
    completing->held.answer(&completing->held, buf_str(&server->out));
    buf_clear(&server->out);
    completing_over(completing);
}

static void completing_late(void *data)
{
    completing_answer(data, NOD_E_TIMEOUT, true);
}

static void completing_gone(struct held *held)
{
    completing_over(LIST_OF(held, struct completing, held));
}

/* The server is destroyed. */
static void completing_drop(struct server_work *work)
{
    struct completing *completing = (struct completing *)(void *)work;

    timer_stop(work->server->opts.loop, &completing->late);
    work->server = NULL;
    completing->completion.given_up = true;
}

static void completing_done(struct completion *completion, nod_status status)
{
    struct completing *completing = LIST_OF(completion, struct completing, completion);

    if (completing->asking) {
        completing->done = true;
        completing->status = status;
        return;
    }
    if (completing->work.server)
        completing_answer(completing, status, false);
    completing_free(completing);
}

/* Asks the provider. It has answered when this returns, or the request is held. */
static void completing_begin(struct request *request, struct target *target, struct str argument,
                             struct str typed, const struct json *context)
{
    struct completing *completing = MEM_NEW(struct completing);
    struct arena *arena = &completing->arena;
    struct completion *completion = &completing->completion;

    arena_init(arena, COMPLETION_ARENA_MAX);
    completion->argument = arena_str(arena, argument);
    completion->typed = arena_str(arena, typed);
    completion->context = context ? json_copy(arena, context) : NULL;
    completion->arena = arena;
    completing->target = target;
    target_hold(target);
    completing->asking = true;
    target->provider->ops->complete(target->provider, target, completion, completing_done);
    completing->asking = false;
    if (completing->done) {
        completing_write(request, completion, completing->status);
        completing_free(completing);
        return;
    }
    struct mcp_server *server = request->server;
    completing->id = arena_str(arena, request->id);
    completing->modern = request->meta != NULL;
    completing->held.gone = completing_gone;
    if (!request->era->hold(request, &completing->held)) {
        completion->given_up = true;
        return;
    }
    list_init(&completing->work.link);
    completing->work.drop = completing_drop;
    server_work_add(server, &completing->work);
    timer_set(server->opts.loop, &completing->late, server->opts.completion_ms, completing_late,
              completing);
}

void completion_complete(struct request *request)
{
    const struct json *argument, *context;
    struct target *target = find_ref(request);

    if (!target || !request_object(request, STR("argument"), &argument) ||
        !request_object(request, STR("context"), &context))
        return;
    const struct json *name = json_get(argument, STR("name"));
    const struct json *value = json_get(argument, STR("value"));
    if (!json_is(name, JSON_STRING) || !json_is(value, JSON_STRING)) {
        reply_error(request, RPC_INVALID_PARAMS,
                    STR("params.argument must be {\"name\": string, \"value\": string}."));
        return;
    }
    if (target->completes && target->provider->ops->complete)
        completing_begin(request, target, json_str(name), json_str(value),
                         json_get(context, STR("arguments")));
    else
        completing_write(request, &(struct completion){ 0 }, NOD_E_NOT_FOUND);
}
