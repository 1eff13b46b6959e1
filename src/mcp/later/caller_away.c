/*
 * mcp/later/caller_away: running a call on while its client is away.
 *
 * The handler runs with the journal so far. If it ends, the result is stored for the client that
 * comes back. If it asks, the questions are stored and the call is unloaded; the client is asked
 * when it is there again. Progress and log messages are lost, because nobody reads them.
 *
 * Holds always: the caller is freed only when the engine no longer uses it.
 */
#include "mcp/later/caller_away.h"

#include "base/log.h"
#include "base/mem.h"
#include "core/catalog.h"
#include "core/gone.h"
#include "mcp/shared/caller_record.h"
#include "mcp/shared/live.h"
#include "mcp/shared/server_inside.h"

enum {
    AWAY_ARENA_MAX = 64 << 10,
    AWAY_KEEP_MS = 60000, /* an end is kept for at least so long */
};

struct callers_away {
    struct list live; /* struct caller_away */
    void (*keeps_session)(struct mcp_server *server, const struct call *call);
};

struct caller_away {
    struct caller caller; /* first */
    struct list link;     /* of the server */
    struct mcp_server *server;
    struct client client; /* that will come back */
    bool held;
    int64_t asks_until;
};

static const struct caller_ops held_ops;
static const struct caller_ops carried_ops;

struct callers_away *callers_away_create(void (*keeps_session)(struct mcp_server *server,
                                                               const struct call *call))
{
    struct callers_away *callers = MEM_NEW(struct callers_away);

    list_init(&callers->live);
    callers->keeps_session = keeps_session;
    return callers;
}

void callers_away_destroy(struct callers_away *callers)
{
    mem_free(callers);
}

static struct caller_away *caller_away_of(const struct call *call)
{
    struct caller *caller = call ? call_caller(call) : NULL;

    return caller && (caller->ops == &held_ops || caller->ops == &carried_ops)
               ? (struct caller_away *)(void *)caller
               : NULL;
}

static void caller_away_free(struct caller_away *away)
{
    struct mcp_server *server = away->server;

    list_remove(&away->link);
    mem_free(away);
    live_call_ended(server);
    server_check_drained(server);
}

bool caller_is_away(const struct call *call)
{
    return call_is_alone(call) || caller_away_of(call);
}

/* --- the caller --- */

static void gone(void *data)
{
    struct caller_away *away = data;

    if (away->server)
        caller_away_free(away);
    else
        mem_free(away);
}

static enum caller_way caller_away_asked(struct caller *caller, struct call *call)
{
    struct caller_away *away = (struct caller_away *)(void *)caller;

    if (away->held)
        away->server->away->keeps_session(away->server, call);
    /* the engine looks at it once more after this */
    loop_defer(away->server->opts.loop, gone, away);
    return CALLER_LEAVES;
}

static void caller_away_finished(struct caller *caller, struct call *call,
                                 const struct outcome *outcome)
{
    struct caller_away *away = (struct caller_away *)(void *)caller;

    (void)outcome;
    if (away->held)
        away->server->away->keeps_session(away->server, call);
    caller_away_free(away);
}

static void caller_away_unloaded(struct caller *caller)
{
    caller_away_free((struct caller_away *)(void *)caller);
}

static int64_t caller_away_ask_ttl(struct caller *caller, const struct call *call)
{
    const struct caller_away *away = (const struct caller_away *)(const void *)caller;

    (void)call;
    return away->asks_until ? away->asks_until - engine_now(away->server->opts.engine) : 0;
}

/* The client is back, with a caller of its own. */
static bool caller_away_gives_way(struct caller *caller, struct call *call, struct caller *to)
{
    call_change_caller(call, to);
    caller_away_free((struct caller_away *)(void *)caller);
    return true;
}

static const struct caller_ops held_ops = { .away = true,
                                            .asked = caller_away_asked,
                                            .finished = caller_away_finished,
                                            .unloaded = caller_away_unloaded,
                                            .gives_way = caller_away_gives_way,
                                            .ask_ttl_ms = caller_away_ask_ttl };
static const struct caller_ops carried_ops = { .asked = caller_away_asked,
                                               .finished = caller_away_finished,
                                               .unloaded = caller_away_unloaded,
                                               .gives_way = caller_away_gives_way,
                                               .ask_ttl_ms = caller_away_ask_ttl,
                                               .carries = true };

/* --- coming and going --- */

void caller_away_go_on(struct mcp_server *server, const struct call_record *record,
                       struct target *target, const struct caller_record *by)
{
    struct caller_away *away = MEM_NEW(struct caller_away);

    away->caller.ops = by->held ? &held_ops : &carried_ops;
    away->server = server;
    away->held = by->held;
    away->client = caller_record_client(by);
    away->client.told =
        record->caller.len > 0; /* the call of a request that became a task has none */
    away->caller.client = &away->client;
    away->caller.roles = by->roles;
    away->asks_until = by->asks_until;
    list_init(&away->link);
    list_append(&server->away->live, &away->link);
    live_call_began(server);
    LOG_INFO(record->state == CALL_STORED_RUNNABLE && !record->deaths.probation
                 ? "a call that nobody worked on goes on here"
                 : "a call whose process is gone waits here for its turn",
             LOG_STR("call", record->id), LOG_STR("target", record->target));
    if (!engine_adopt(
            server->opts.engine,
            &(struct adopt_spec){ .record = record,
                                  .portable = !by->held && server->opts.portable_states,
                                  .target = target,
                                  .keep_ms = by->held ? server->opts.session_idle_ms : AWAY_KEEP_MS,
                                  .caller = &away->caller }))
        caller_away_free(away);
}

void caller_away_orphan(struct mcp_server *server, const struct call_record *record)
{
    struct target *target = catalog_of_call(server->opts.catalog, record);
    struct caller_record by;
    struct arena arena;

    if (server_draining(server))
        return;
    arena_init(&arena, AWAY_ARENA_MAX);
    if (!target)
        engine_orphan_gone(server->opts.engine, record);
    else if (caller_record_read(&arena, record->caller, &by))
        caller_away_go_on(server, record, target, &by);
    else
        LOG_DEBUG("a call that nobody works on is left to others", LOG_STR("call", record->id),
                  LOG_STR("target", record->target));
    arena_finish(&arena);
}

void caller_away_stop(struct mcp_server *server)
{
    LIST_EACH (at, &server->away->live) {
        struct caller_away *away = LIST_OF(at, struct caller_away, link);
        if (away->caller.call) {
            call_caller_left(away->caller.call);
            caller_away_free(away);
        } else {
            list_remove(at); /* being removed already */
            away->server = NULL;
        }
    }
}
