/*
 * mcp/list_changed: clients of both eras are told that a list of targets has changed.
 *
 * If a program registers a hundred tools at once, one list has changed once. So a change is only
 * noted, and told at the end of the turn.
 *
 * What belongs to one principal changes the lists of that principal alone, and nobody else is told.
 */
#include "mcp/parts.h"

#include "base/map.h"
#include "base/mem.h"
#include "mcp/era2026/methods.h"
#include "mcp/shared/listened.h"
#include "mcp/shared/server_inside.h"
#include "mcp/era2025/session.h"
#include "rpc/message.h"

enum { CHANGED_OWNERS_MAX = 1024 }; /* with more in one turn, everybody is told */

struct changed_owner {
    unsigned changed;
    struct str principal;
    char text[];
};

struct list_changes {
    unsigned changed;  /* bits of enum target_kind: lists whose change is still to be told */
    struct map owners; /* principal -> struct changed_owner: what has changed for them alone */
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
    struct list_changes *changes = MEM_NEW(struct list_changes);

    map_init(&changes->owners, CHANGED_OWNERS_MAX);
    return changes;
}

static void owners_forget(struct list_changes *changes)
{
    size_t at = 0;

    for (struct changed_owner *owner; (owner = map_next(&changes->owners, &at));) {
        map_remove(&changes->owners, owner->principal);
        mem_free(owner);
    }
}

/* The lists that have changed for this principal. */
static unsigned list_changes_of(const struct mcp_server *server, struct str principal)
{
    const struct list_changes *changes = server->list_changes;
    const struct changed_owner *owner =
        changes->owners.count ? map_get(&changes->owners, principal) : NULL;

    return changes->changed | (owner ? owner->changed : 0);
}

void list_changes_destroy(struct mcp_server *server)
{
    timer_stop(server->opts.loop, &server->list_changes->turn);
    owners_forget(server->list_changes);
    map_finish(&server->list_changes->owners);
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

    changes->telling = false;
    if (changes->changed & 1u << TARGET_RESOURCE || changes->owners.count)
        listened_changed(server);
    subscriptions_changed(server, list_changes_of);
    for (struct list *at = sessions->next; at != sessions; at = at->next) {
        struct session *session = LIST_OF(at, struct session, by_use);
        tell_one(session, list_changes_of(server, session_principal(session)));
    }
    changes->changed = 0;
    owners_forget(changes);
    buf_clear(&server->out);
}

static void note_change(struct list_changes *changes, const struct target *target)
{
    struct str principal = target->owner;
    unsigned bit = 1u << target->kind;
    struct changed_owner *owner = principal.len ? map_get(&changes->owners, principal) : NULL;

    if (!principal.len || (!owner && changes->owners.count == CHANGED_OWNERS_MAX)) {
        changes->changed |= bit;
        return;
    }
    if (!owner) {
        char *text;
        owner = mem_zalloc(sizeof(*owner) + principal.len + 1);
        text = owner->text;
        owner->principal = str_place(&text, principal);
        map_add(&changes->owners, owner->principal, owner);
    }
    owner->changed |= bit;
}

void list_changed(struct mcp_server *server, const struct catalog_change *change)
{
    struct list_changes *changes = server->list_changes;

    if (list_empty(&server->sessions->by_use) && !subscriptions_any(server))
        return; /* whoever comes later reads the list as it is */
    for (size_t i = 0; i < change->add_count; i++)
        note_change(changes, change->add[i]);
    for (size_t i = 0; i < change->remove_count; i++)
        note_change(changes, change->remove[i]);
    if (changes->telling)
        return;
    changes->telling = true;
    timer_set(server->opts.loop, &changes->turn, 0, tell, server);
}
