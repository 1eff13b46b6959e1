/*
 * mcp/era2025/stdio_orphans: questions that a pipe has left behind (era 2025).
 *
 * Nobody can come back over stdio. When the process dies, questions that only its client could
 * answer are still in the store. So the calls that wait on the pipe are noted in one small record,
 * before their questions go out. The next process that serves the store on stdio cancels them. The
 * note may name calls that have ended since: cancelling those changes nothing. A call that a person
 * can answer elsewhere, and whose handle the client has, is not noted: the next process finds it.
 *
 * With a shared store, all nodes would share the note, so there is none. There such questions end
 * when their time is up.
 */
#include "base/mem.h"
#include "mcp/era2025/caller.h"
#include "mcp/era2025/soft.h"
#include "mcp/era2025/stdio_orphans.h"
#include "mcp/shared/work.h"

enum { LEFT_TTL_MS = 24 * 3600000, LEFT_BYTES_MAX = MCP_CALLS_PER_SESSION_MAX * (ID_LEN + 1) };

#define LEFT_KIND STR("stdio")
#define LEFT_KEY  STR("waiting")

static bool is_noted(const struct mcp_server *server)
{
    return server_survives(server) && !engine_store(server->opts.engine)->ops->shared;
}

static void ignored(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data, (void)status, (void)reply;
}

/* By the handle of its pending result. */
static bool is_found_again(const struct caller2025 *call)
{
    return (call->attach || soft2025_noted(call)) && call_asks_people_elsewhere(call->caller.call);
}

void stdio_orphans_note(struct session *session)
{
    struct store *store = engine_store(session->server->opts.engine);
    struct buf ids;

    if (!is_noted(session->server))
        return;
    buf_init(&ids, LEFT_BYTES_MAX);
    LIST_EACH (at, &session->call_list) {
        const struct caller2025 *call = LIST_OF(at, struct caller2025, link);
        if (call->caller.call && !is_found_again(call))
            buf_add(&ids, call_id(call->caller.call));
    }
    store->ops->put(store, LEFT_KIND, LEFT_KEY, buf_str(&ids), STR_NONE, 0, LEFT_TTL_MS, ignored,
                    NULL);
    buf_finish(&ids);
}

static void left_found(void *data, nod_status status, const struct store_reply *reply)
{
    struct server_work *work = data;
    struct mcp_server *server = work->server;

    for (size_t at = 0; server && status == NOD_OK && at + ID_LEN <= reply->value.len;
         at += ID_LEN) {
        struct str id = str_n(reply->value.at + at, ID_LEN);
        if (!engine_find(server->opts.engine, id)) /* otherwise it is one of our own calls */
            engine_cancel(server->opts.engine, id, STR("the client that was asked is gone"), NULL,
                          NULL);
    }
    server_work_done(work);
    mem_free(work);
}

void stdio_orphans_withdraw(struct mcp_server *server)
{
    struct store *store = engine_store(server->opts.engine);

    if (!is_noted(server))
        return;
    struct server_work *work = MEM_NEW(struct server_work);
    server_work_add(server, work);
    store->ops->get(store, LEFT_KIND, LEFT_KEY, left_found, work);
}
