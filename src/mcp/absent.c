/*
 * mcp/absent: running a call on while its client is away.
 *
 * The handler runs with the journal so far. If it ends, the store has the result, and gives it to
 * whoever comes back. If it asks, the questions are stored, and the call is let go of: they are put
 * to the client when it is there. Progress and log messages have nobody to read them, and are lost.
 *
 * Holds always: an absent caller is freed only when the engine has let go of it.
 */
#include "mcp/absent.h"

#include "base/log.h"
#include "base/mem.h"
#include "core/catalog.h"
#include "mcp/came_by.h"
#include "mcp/caller2026.h"
#include "mcp/mcp_call.h"
#include "mcp/session_store.h"

enum { ABSENT_ARENA_MAX = 64 << 10 };

struct absent {
    struct caller caller; /* first */
    struct list link;     /* of the server */
    struct mcp_server *server;
    bool held;
    uint8_t can;
    int64_t asks_until;
};

static const struct caller_ops held_ops;
static const struct caller_ops carried_ops;

static struct absent *absent_of(const struct call *call)
{
    struct caller *caller = call ? call_caller(call) : NULL;

    return caller && (caller->ops == &held_ops || caller->ops == &carried_ops)
               ? (struct absent *)(void *)caller
               : NULL;
}

static void absent_free(struct absent *absent)
{
    struct mcp_server *server = absent->server;

    list_remove(&absent->link);
    mem_free(absent);
    server->calls--;
    server_moved(server);
}

uint8_t absent_can(const struct call *call, bool held)
{
    const struct absent *absent = absent_of(call);

    return absent && absent->held == held ? absent->can : 0;
}

bool absent_hand_over(struct call *call, struct caller *to)
{
    struct absent *absent = absent_of(call);

    if (!absent)
        return false;
    call_hand_over(call, to);
    absent_free(absent);
    return true;
}

/* --- the caller ------------------------------------------------------------------------------- */

static void gone(void *data)
{
    struct absent *absent = data;

    if (absent->server)
        absent_free(absent);
    else
        mem_free(absent);
}

static enum caller_way absent_asked(struct caller *caller, struct call *call)
{
    struct absent *absent = (struct absent *)(void *)caller;

    if (absent->held)
        session_need_away(absent->server, call_scope(call), mcp_call_needs(absent->server, call));
    loop_defer(absent->server->opts.loop, gone, absent); /* the engine looks at it once more */
    return CALLER_LEAVES;
}

static void absent_finished(struct caller *caller, struct call *call, const struct outcome *outcome)
{
    struct absent *absent = (struct absent *)(void *)caller;

    (void)outcome;
    if (absent->held)
        session_need_away(absent->server, call_scope(call), mcp_call_needs(absent->server, call));
    absent_free(absent);
}

static void absent_left(struct caller *caller)
{
    absent_free((struct absent *)(void *)caller);
}

static int64_t absent_ask_ttl(struct caller *caller, const struct call *call)
{
    const struct absent *absent = (const struct absent *)(const void *)caller;

    (void)call;
    return absent->asks_until ? absent->asks_until - engine_now(absent->server->opts.engine) : 0;
}

static const struct caller_ops held_ops = { .asked = absent_asked,
                                            .finished = absent_finished,
                                            .left = absent_left,
                                            .ask_ttl_ms = absent_ask_ttl };
static const struct caller_ops carried_ops = { .asked = absent_asked,
                                               .finished = absent_finished,
                                               .left = absent_left,
                                               .ask_ttl_ms = absent_ask_ttl,
                                               .carries = true };

/* --- what nobody can run ---------------------------------------------------------------------- */

/*
 * Where it is watched since when this node first saw that call, which it cannot run. Calls that are
 * seen keep their places: NULL if there is none left, and it has to be seen again.
 */
static struct unrun *watched(struct mcp_server *server, struct str call_id, int64_t now)
{
    struct unrun *free = NULL;

    for (size_t i = 0; i < MCP_UNRUN_MAX; i++) {
        struct unrun *unrun = &server->unrun[i];
        if (str_eq(id_str(&unrun->call), call_id)) {
            unrun->seen = now;
            return unrun;
        }
        if (!unrun->call.text[0] || now - unrun->seen > MCP_UNRUN_UNSEEN_MS)
            free = unrun;
    }
    if (free) {
        *free = (struct unrun){ .first = now, .seen = now };
        memcpy(free->call.text, call_id.at, call_id.len < ID_LEN ? call_id.len : ID_LEN);
    }
    return free;
}

/* Another node may have the target; here it may be registered only when the server runs. */
static void orphan_without_target(struct mcp_server *server, const struct call_record *record,
                                  struct arena *arena)
{
    struct engine *engine = server->opts.engine;
    int64_t now = loop_now(server->opts.loop);
    struct unrun *unrun = watched(server, record->id, now);

    if (!unrun || now - unrun->first < MCP_GONE_MS)
        return;
    *unrun = (struct unrun){ 0 };
    struct outcome outcome = outcome_gone(arena, record->target);
    LOG_WARN("a call has ended because what it runs is no longer there",
             LOG_STR("call", record->id), LOG_STR("target", record->target));
    engine_end(engine, record->id, &outcome);
}

void absent_end_gone(struct mcp_server *server, struct str call_id, const struct outcome *outcome)
{
    if (!engine_store(server->opts.engine)->ops->shared)
        engine_end(server->opts.engine, call_id, outcome);
}

/* --- coming and going ------------------------------------------------------------------------- */

void absent_orphan(void *data, const struct call_record *record)
{
    struct mcp_server *server = data;
    struct target *target = catalog_named(server->opts.catalog, record->kind, record->target);
    struct came_by by;
    struct arena arena;

    if (server->draining)
        return;
    arena_init(&arena, ABSENT_ARENA_MAX);
    bool known = target && came_by_read(&arena, record->caller, &by);
    if (!target)
        orphan_without_target(server, record, &arena);
    arena_finish(&arena);
    if (!known) {
        LOG_DEBUG("a call that nobody works on is left to others", LOG_STR("call", record->id),
                  LOG_STR("target", record->target));
        return;
    }
    struct absent *absent = MEM_NEW(struct absent);
    absent->caller.ops = by.held ? &held_ops : &carried_ops;
    absent->server = server;
    absent->held = by.held;
    absent->can = by.can;
    absent->asks_until = by.asks_until;
    list_init(&absent->link);
    list_append(&server->absents, &absent->link);
    server->calls++;
    LOG_INFO("a call that nobody worked on goes on here", LOG_STR("call", record->id),
             LOG_STR("target", record->target));
    if (!engine_adopt(
            server->opts.engine,
            &(struct adopt_spec){ .record = record,
                                  .elsewhere_too = !by.held && server->opts.portable_states,
                                  .target = target,
                                  .keep_ms = by.held ? server->opts.session_idle_ms : 0,
                                  .caller = &absent->caller }))
        absent_free(absent);
}

void absent_stop(struct mcp_server *server)
{
    LIST_EACH (at, &server->absents) {
        struct absent *absent = LIST_OF(at, struct absent, link);
        if (absent->caller.call) {
            call_let_go(absent->caller.call);
            absent_free(absent);
        } else {
            list_remove(at); /* on its way out already */
            absent->server = NULL;
        }
    }
}
