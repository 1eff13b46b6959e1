/*
 * mcp/list_changed: clients of both eras are told that a list of targets has changed.
 *
 * If a program registers a hundred tools at once, one list has changed once. So a change is only
 * noted, and told at the end of the turn.
 */
#include "mcp/parts.h"

#include "base/mem.h"
#include "mcp/era2026/methods.h"
#include "mcp/shared/server_inside.h"
#include "mcp/era2025/session.h"
#include "rpc/message.h"

struct list_changes {
    unsigned changed; /* bits of enum target_kind: lists whose change is still to be told */
    bool telling;
    struct timer turn;
};

static const struct str methods[] = {
    [TARGET_TOOL] = STR_INIT("notifications/tools/list_changed"),
    [TARGET_RESOURCE] = STR_INIT("notifications/resources/list_changed"),
    [TARGET_PROMPT] = STR_INIT("notifications/prompts/list_changed"),
};

struct list_changes *list_changes_create(void)
{
    return MEM_NEW(struct list_changes);
}

void list_changes_destroy(struct mcp_server *server)
{
    timer_stop(server->opts.loop, &server->list_changes->turn);
    mem_free(server->list_changes);
    server->list_changes = NULL;
}

static void tell_one(struct session *session, unsigned changed)
{
    struct buf *out = &session->server->out;

    if (!session->initialized)
        return;
    for (int kind = TARGET_TOOL; kind <= TARGET_PROMPT; kind++) {
        if (!(changed & (1u << kind)))
            continue;
        buf_clear(out);
        rpc_write_notification(out, methods[kind], STR_NONE);
        session_notify(session, buf_str(out));
    }
}

static void tell(void *data)
{
    struct mcp_server *server = data;
    struct list_changes *changes = server->list_changes;
    const struct list *sessions = &server->sessions->by_use;
    unsigned changed = changes->changed;

    changes->changed = 0;
    changes->telling = false;
    subscriptions_changed(server, changed);
    for (struct list *at = sessions->next; at != sessions; at = at->next)
        tell_one(LIST_OF(at, struct session, by_use), changed);
    buf_clear(&server->out);
}

void list_changed(struct mcp_server *server, enum target_kind kind)
{
    struct list_changes *changes = server->list_changes;

    changes->changed |= 1u << kind;
    if (changes->telling || (list_empty(&server->sessions->by_use) && !subscriptions_any(server)))
        return;
    changes->telling = true;
    timer_set(server->opts.loop, &changes->turn, 0, tell, server);
}
