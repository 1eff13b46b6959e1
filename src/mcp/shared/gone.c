/*
 * mcp/shared/gone: see gone.h.
 *
 * With a shared store, another node that lives and has the target (in the version of the call) goes
 * on with the call, and nothing ends here. If there is none, one may be on its way: all nodes that
 * have the target may be started anew at this moment. So the call ends when no node has had the
 * target for MCP_GONE_MS, since this node first met the call. Where the store is not shared,
 * nobody else can have the target: a client that comes is told at once, and only a call that
 * nobody has come for waits as long, because the target may be registered while the server runs.
 *
 * Holds always: what is seen of a call is forgotten when another node is seen to have its target.
 */
#include "mcp/shared/gone.h"

#include "base/log.h"
#include "base/mem.h"
#include "core/catalog.h"
#include "core/outcome.h"
#include "mcp/shared/server_inside.h"
#include "mcp/shared/work.h"

enum {
    MCP_UNRUN_MAX = 256,         /* calls without a target that are watched at a time */
    MCP_UNRUN_UNSEEN_MS = 10000, /* one that was not seen for that long makes room for another */
    MCP_UNRUN_ANEW_MS = 60000,   /* and one that was not seen for that long is met anew */
    GONE_ARENA_MAX = 64 << 10,   /* memory of the message that a target is gone */
};

struct unrun { /* a call that is not run here: its target is missing */
    struct id call;
    int64_t first, seen; /* the loop's clock */
};

struct gone {
    struct unrun unrun[MCP_UNRUN_MAX];
};

struct gone *gone_create(void)
{
    return MEM_NEW(struct gone);
}

void gone_destroy(struct gone *gone)
{
    mem_free(gone);
}

/*
 * A call that this node cannot run, and since when it has seen it. Calls that are seen again keep
 * their places. NULL: no place is free now.
 */
static struct unrun *watched(struct mcp_server *server, struct str call_id, int64_t now)
{
    struct unrun *free = NULL;

    for (size_t i = 0; i < MCP_UNRUN_MAX; i++) {
        struct unrun *unrun = &server->gone->unrun[i];
        if (str_eq(id_str(&unrun->call), call_id)) {
            if (now - unrun->seen > MCP_UNRUN_ANEW_MS)
                unrun->first = now;
            unrun->seen = now;
            return unrun;
        }
        if (!unrun->call.text[0] || now - unrun->seen > MCP_UNRUN_UNSEEN_MS)
            free = unrun;
    }
    if (free) {
        *free = (struct unrun){ .first = now, .seen = now };
        free->call = id_of(call_id);
    }
    return free;
}

/* Has no node had its target for so long that the call may end? */
static bool gone_long(struct mcp_server *server, const struct call_record *record)
{
    int64_t now = loop_now(server->opts.loop);
    struct unrun *unrun = watched(server, record->id, now);
    enum version_at at = engine_version_elsewhere(server->opts.engine, record);

    if (!unrun)
        return false;
    if (at == VERSION_THERE)
        *unrun = (struct unrun){ 0 };
    return at == VERSION_NOWHERE && now - unrun->first >= MCP_GONE_MS;
}

bool gone_for_good(struct mcp_server *server, const struct call_record *record)
{
    if (!engine_store(server->opts.engine)->ops->shared)
        return true;
    /* A node that runs the call keeps the target that the call began with. If that node is gone,
     * the look for orphans shows the call. */
    return record->state != CALL_STORED_RUNNING && gone_long(server, record);
}

void gone_end(struct mcp_server *server, const struct call_record *record,
              void (*done)(void *data, nod_status status), void *data)
{
    const struct so_far so_far = {
        .entries = record->entries,
        .count = record->entry_count,
        .answered = record->state != CALL_STORED_WAITING,
        .interrupted = record->state == CALL_STORED_RUNNING,
    };
    struct arena arena;

    LOG_WARN("a call is ended: its target no longer exists", LOG_STR("call", record->id),
             LOG_STR("target", record->target));
    arena_init(&arena, GONE_ARENA_MAX);
    struct outcome outcome = outcome_gone(&arena, record->target, &so_far);
    engine_end(server->opts.engine, record->id, &outcome, done, data);
    arena_finish(&arena);
}

/* --- a call that nobody has come for --- */

/* A look may show the call without its journal: so it is loaded before it ends. */
struct gone_orphan {
    struct server_work work; /* first */
    struct id call;
};

static void orphan_loaded(void *data, nod_status status, const struct store_reply *reply)
{
    struct gone_orphan *orphan = data;
    struct mcp_server *server = orphan->work.server;
    const struct call_record *record = status == NOD_OK ? reply->call : NULL;

    if (server && record &&
        (record->state == CALL_STORED_RUNNABLE || record->state == CALL_STORED_RUNNING) &&
        !catalog_named(server->opts.catalog, record->kind, record->target))
        gone_end(server, record, NULL, NULL);
    server_work_done(&orphan->work);
    mem_free(orphan);
}

void gone_orphan(struct mcp_server *server, const struct call_record *record)
{
    struct store *store = engine_store(server->opts.engine);

    if (!gone_long(server, record))
        return;
    struct gone_orphan *orphan = MEM_NEW(struct gone_orphan);
    orphan->call = id_of(record->id);
    server_work_add(server, &orphan->work);
    store->ops->load_call(store, id_str(&orphan->call), orphan_loaded, orphan);
}
