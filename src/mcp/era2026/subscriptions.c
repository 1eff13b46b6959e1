/*
 * mcp/era2026/subscriptions: subscriptions/listen, a response that stays open and reports changes.
 *
 * A listener names what it wants to hear of, is told which of it it will hear of, and then hears of
 * exactly that. Every message carries the listener's id, which is the id of its request. Nothing is
 * kept for a listener that does not read: a message that finds no room is dropped, because a list
 * that changed can be fetched at any time.
 */
#include "base/log.h"
#include "base/mem.h"
#include "mcp/offered/lists.h"
#include "mcp/era2026/methods.h"
#include "mcp/era2026/pipe.h"
#include "mcp/wire/result.h"
#include "mcp/shared/listened.h"
#include "mcp/shared/shares.h"
#include "mcp/tasks/tasks.h"

enum {
    MCP_LISTENERS_MAX = 10000, /* subscriptions/listen at the same time */
    MCP_LISTENED_MAX = 1000,   /* resources that one of them names */
};

struct listeners {
    struct list list; /* struct listener */
    size_t count;
};

struct listener {
    struct list link; /* of the listeners */
    struct response response;
    struct in_flight in_flight;
    struct timer beat;
    unsigned changes; /* bits of enum target_kind */
    struct map uris;  /* uri -> struct str *, itself */
    struct map tasks; /* the same for task ids */
    struct arena arena;
    struct str id;
    struct str principal;
    size_t counted; /* how many of its URIs count as subscriptions of the principal */
    bool listens;   /* its URIs are counted: mcp/shared/listened */
    bool dead;
};

static const struct {
    struct str filter;
    enum target_kind kind;
    struct str method;
} changes[] = {
    { STR_INIT("toolsListChanged"), TARGET_TOOL, STR_INIT("notifications/tools/list_changed") },
    { STR_INIT("promptsListChanged"), TARGET_PROMPT,
      STR_INIT("notifications/prompts/list_changed") },
    { STR_INIT("resourcesListChanged"), TARGET_RESOURCE,
      STR_INIT("notifications/resources/list_changed") },
};

enum { CHANGES = sizeof(changes) / sizeof(changes[0]), LISTENER_ARENA_MAX = 16 << 20 };

/* --- its life --- */

struct listeners *listeners_create(void)
{
    struct listeners *listeners = MEM_NEW(struct listeners);

    list_init(&listeners->list);
    return listeners;
}

void listeners_destroy(struct listeners *listeners)
{
    mem_free(listeners);
}

bool subscriptions_any(const struct mcp_server *server)
{
    return server->listeners->count > 0;
}

/* Whoever provides its resources is told, where that begins or ends with it. */
static void listener_listens(struct listener *listener, bool yes)
{
    struct mcp_server *server = listener->response.server;
    const struct str *uri;
    size_t at = 0;

    if (listener->listens == yes)
        return;
    listener->listens = yes;
    while ((uri = map_next(&listener->uris, &at))) {
        if (yes)
            listened_add(server, listener->principal, *uri);
        else
            listened_drop(server, listener->principal, *uri);
    }
}

static void listener_free(struct listener *listener)
{
    struct mcp_server *server = listener->response.server;

    listener_listens(listener, false);
    timer_stop(server->opts.loop, &listener->beat);
    pipe_remove(&listener->in_flight);
    list_remove(&listener->link);
    server->listeners->count--;
    shares_drop(server, listener->principal, MCP_SHARE_LISTENERS, 1);
    shares_drop(server, listener->principal, MCP_SHARE_SUBSCRIPTIONS, listener->counted);
    map_finish(&listener->uris);
    map_finish(&listener->tasks);
    arena_finish(&listener->arena);
    mem_free(listener);
}

static void free_later(void *data)
{
    listener_free(data);
}

/* This may happen while it is being told something. */
static void listener_gone(struct response *response)
{
    struct listener *listener = LIST_OF(response, struct listener, response);

    if (listener->dead)
        return;
    listener->dead = true;
    timer_set(response->server->opts.loop, &listener->beat, 0, free_later, listener);
}

static void listener_cancelled(struct in_flight *in_flight)
{
    struct listener *listener = LIST_OF(in_flight, struct listener, in_flight);

    listener->response.over = true;
    listener_free(listener);
}

static void listener_beat(void *data)
{
    struct listener *listener = data;
    struct mcp_server *server = listener->response.server;

    timer_set(server->opts.loop, &listener->beat, server->opts.heartbeat_ms, listener_beat,
              listener);
    response_comment(&listener->response);
}

/* --- messages --- */

static void message_begin(struct listener *listener, struct json_writer *w, struct str method)
{
    rpc_begin(w, &listener->response.server->out, STR_NONE, method);
    jw_key(w, STR("_meta"));
    jw_object(w);
    jw_key_raw(w, STR(META_SUBSCRIPTION), listener->id);
    jw_end(w);
}

static void message_send(struct listener *listener, struct json_writer *w)
{
    struct buf *out = &listener->response.server->out;

    if (rpc_end(w) && !response_event(&listener->response, buf_str(out)))
        LOG_DEBUG("a listener does not read");
    buf_clear(out);
}

static void tell_task(struct listener *listener, struct task *task)
{
    struct json_writer w;

    if (listener->dead)
        return;
    message_begin(listener, &w, STR("notifications/tasks"));
    task_write(&w, task, true);
    message_send(listener, &w);
}

static void write_ids(struct json_writer *w, struct str key, const struct map *taken,
                      const struct json *wanted)
{
    if (!taken->count)
        return;
    jw_key(w, key);
    jw_array(w);
    JSON_EACH (one, wanted)
        if (map_get(taken, json_str(one)))
            jw_str(w, json_str(one));
    jw_end(w);
}

/* What the listener is told from now on, and what has happened before, so that nothing is
 * missed. */
static void acknowledge(struct listener *listener, const struct json *uris,
                        const struct json *task_ids)
{
    struct json_writer w;

    message_begin(listener, &w, STR("notifications/subscriptions/acknowledged"));
    jw_key(&w, STR("notifications"));
    jw_object(&w);
    for (size_t i = 0; i < CHANGES; i++)
        if (listener->changes & 1u << changes[i].kind)
            jw_key_bool(&w, changes[i].filter, true);
    write_ids(&w, STR("resourceSubscriptions"), &listener->uris, uris);
    write_ids(&w, STR("taskIds"), &listener->tasks, task_ids);
    jw_end(&w);
    message_send(listener, &w);
    JSON_EACH (id, task_ids) {
        struct mcp_server *server = listener->response.server;
        struct task *task = task_find(server, json_str(id), listener->principal);
        if (task && map_get(&listener->tasks, json_str(id)))
            tell_task(listener, task);
    }
}

void subscriptions_changed(struct mcp_server *server,
                           unsigned (*changed_for)(const struct mcp_server *server,
                                                   struct str principal))
{
    LIST_EACH (at, &server->listeners->list) {
        struct listener *listener = LIST_OF(at, struct listener, link);
        unsigned changed = changed_for(server, listener->principal);
        for (size_t i = 0; i < CHANGES && !listener->dead; i++) {
            struct json_writer w;
            if (!(changed & listener->changes & 1u << changes[i].kind))
                continue;
            message_begin(listener, &w, changes[i].method);
            message_send(listener, &w);
        }
    }
}

void subscriptions_updated(struct mcp_server *server, struct str uri)
{
    LIST_EACH (at, &server->listeners->list) {
        struct listener *listener = LIST_OF(at, struct listener, link);
        struct json_writer w;
        if (listener->dead || !map_get(&listener->uris, uri))
            continue;
        message_begin(listener, &w, STR("notifications/resources/updated"));
        jw_key_str(&w, STR("uri"), uri);
        message_send(listener, &w);
    }
}

void subscriptions_task(struct mcp_server *server, struct task *task)
{
    LIST_EACH (at, &server->listeners->list) {
        struct listener *listener = LIST_OF(at, struct listener, link);
        if (map_get(&listener->tasks, id_str(&task->id)) &&
            str_eq(listener->principal, task->principal))
            tell_task(listener, task);
    }
}

/* The answer to a request that stayed open: it has ended normally. */
static void close_one(struct listener *listener, struct str why)
{
    struct mcp_server *server = listener->response.server;
    struct buf *out = &server->out;
    struct json_writer w;

    /* First the listener is told of the end, as long as it listens; then the request is
     * answered. */
    message_begin(listener, &w, STR("notifications/cancelled"));
    jw_key_raw(&w, STR("requestId"), listener->id);
    jw_key_str(&w, STR("reason"), why);
    message_send(listener, &w);
    if (listener->dead)
        return;
    rpc_begin(&w, out, listener->id, STR_NONE);
    jw_key_str(&w, STR("resultType"), STR("complete"));
    jw_key(&w, STR("_meta"));
    jw_object(&w);
    jw_key_raw(&w, STR(META_SUBSCRIPTION), listener->id);
    jw_key(&w, STR(META_SERVER));
    result_server_info(&w, &server->opts.self);
    jw_end(&w);
    if (rpc_end(&w))
        response_end(&listener->response, 200, buf_str(out));
    buf_clear(out);
}

void subscriptions_close(struct mcp_server *server, bool pipe)
{
    LIST_EACH (at, &server->listeners->list) {
        struct listener *listener = LIST_OF(at, struct listener, link);
        if (pipe && !listener->response.pipe)
            continue;
        if (!listener->dead)
            close_one(listener,
                      pipe ? STR("The input has ended.") : STR("The server is shutting down."));
        listener_free(listener);
    }
}

/* --- listening --- */

/* Is it the URI of a resource that can be subscribed to? */
static bool is_uri(struct request *request, struct str uri)
{
    struct json *variables = NULL;
    const struct target *target =
        uri.len <= MCP_URI_MAX ? catalog_match(request->server->opts.catalog, request->sender, uri,
                                               &request->server->message, &variables)
                               : NULL;

    return target && target->subscribable && lists_allow(request, target);
}

static bool is_task(struct request *request, struct str id)
{
    return task_find(request->server, id, request->principal);
}

/* Takes what there is. The others are left out of the answer. */
static bool take_all(struct request *request, struct listener *listener, const struct json *wanted,
                     bool (*is)(struct request *request, struct str id), struct map *taken)
{
    size_t count = 0;

    if (wanted && !json_is(wanted, JSON_ARRAY))
        return false;
    JSON_EACH (one, wanted) {
        if (!json_is(one, JSON_STRING) || ++count > MCP_LISTENED_MAX)
            return false;
        if (!is(request, json_str(one)))
            continue;
        struct str *copy = ARENA_NEW(&listener->arena, struct str);
        if (copy)
            *copy = arena_str(&listener->arena, json_str(one));
        if (copy && copy->at && !map_get(taken, *copy))
            map_set(taken, *copy, copy);
    }
    return true;
}

static bool read_filter(struct request *request, struct listener *listener,
                        const struct json *filter)
{
    for (size_t i = 0; i < CHANGES; i++) {
        const struct json *wanted = json_get(filter, changes[i].filter);
        if (wanted && !json_is(wanted, JSON_BOOL))
            return false;
        if (json_true(wanted))
            listener->changes |= 1u << changes[i].kind;
    }
    return take_all(request, listener, json_get(filter, STR("resourceSubscriptions")), is_uri,
                    &listener->uris) &&
           take_all(request, listener, json_get(filter, STR("taskIds")), is_task, &listener->tasks);
}

void subscriptions_listen(struct request *request)
{
    struct mcp_server *server = request->server;
    const struct json *filter = json_get(request->params, STR("notifications"));

    if (!json_is(filter, JSON_OBJECT)) {
        reply_error(request, RPC_INVALID_PARAMS, STR("params.notifications must be an object."));
        return;
    }
    if (json_get(filter, STR("taskIds")) && !request->meta->tasks) {
        tasks_missing(request);
        return;
    }
    if (shares_refuse(request, request->principal, MCP_SHARE_LISTENERS, 1))
        return;
    _Static_assert(MCP_LISTENERS_MAX == 10000, "as the message says");
    if (server->listeners->count >= MCP_LISTENERS_MAX) {
        reply_error(request, RPC_INTERNAL_ERROR,
                    STR("This server has 10000 listeners, and takes no more; try again later."));
        request->status = 503;
        return;
    }
    struct listener *listener = MEM_NEW(struct listener);
    arena_init(&listener->arena, LISTENER_ARENA_MAX);
    map_init(&listener->uris, MCP_LISTENED_MAX);
    map_init(&listener->tasks, MCP_LISTENED_MAX);
    listener->id = arena_str(&listener->arena, request->id);
    listener->principal = arena_str(&listener->arena, request->principal);
    list_append(&server->listeners->list, &listener->link);
    server->listeners->count++;
    shares_add(server, listener->principal, MCP_SHARE_LISTENERS, 1);
    listener->response.server = server;
    if (!read_filter(request, listener, filter)) {
        reply_errorf(request, RPC_INVALID_PARAMS,
                     "params.notifications must have booleans, and at most %d resource uris and "
                     "as many task ids.",
                     MCP_LISTENED_MAX);
        listener_free(listener);
        return;
    }
    if (listener->uris.count && shares_refuse(request, listener->principal, MCP_SHARE_SUBSCRIPTIONS,
                                              listener->uris.count)) {
        listener_free(listener);
        return;
    }
    listener->counted = listener->uris.count;
    shares_add(server, listener->principal, MCP_SHARE_SUBSCRIPTIONS, listener->counted);
    if (!pipe_add(request, &listener->in_flight, listener->id, listener_cancelled)) {
        listener_free(listener);
        return;
    }
    response_take(&listener->response, request, listener_gone);
    listener_beat(listener);
    listener_listens(listener, true);
    acknowledge(listener, json_get(filter, STR("resourceSubscriptions")),
                json_get(filter, STR("taskIds")));
}
