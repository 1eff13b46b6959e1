/*
 * mcp/era2025/session: which clients are there, and until when (era 2025).
 *
 * Sessions are found by an id of 128 random bits and by their principal. With the right id but
 * another principal the session is not found. The list `by_use` begins with the session that was
 * silent longest, so a sweep looks only at those that may have to go. A session with an open
 * connection or a live call is not idle, however silent it is. If its calls only wait, nobody is
 * connected, and the store has everything, this node drops the session: the client that comes back
 * finds it in the store.
 *
 * Holds always: a session is freed only when it has ended and no call points to it.
 */
#include "mcp/era2025/session.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "mcp/era2025/subscribers.h"
#include "mcp/era2025/caller.h"
#include "mcp/era2025/held.h"
#include "mcp/wire/meta.h"
#include "mcp/era2025/session_store.h"
#include "mcp/era2025/soft.h"
#include "mcp/shared/shares.h"
#include "mcp/era2025/ask.h"

static bool session_may_be_left(const struct session *session);
static void session_leave(struct session *session, struct str why);

/*
 * There are too many sessions, or too many of this principal. If the store has them, one that
 * nobody uses right now is dropped here.
 */
static void make_room(struct mcp_server *server, struct str principal)
{
    bool own = shares_full(server, principal, MCP_SHARE_SESSIONS, 1);

    if ((server->sessions->by_id.count < MCP_SESSIONS_MAX && !own) || !server_survives(server))
        return;
    LIST_EACH (at, &server->sessions->by_use) {
        struct session *session = LIST_OF(at, struct session, by_use);
        if (own && !str_eq(session_principal(session), principal))
            continue;
        if (session_may_be_left(session)) {
            session_leave(session, STR("others need its room"));
            return;
        }
    }
}

struct session *session_create(struct mcp_server *server, struct str principal)
{
    struct id id;

    if (shares_full(server, principal, MCP_SHARE_SESSIONS, 1))
        return NULL; /* the client may end some of its sessions */
    id_random(&id);
    return session_restore(server, principal, &id);
}

struct session *session_restore(struct mcp_server *server, struct str principal,
                                const struct id *id)
{
    make_room(server, principal);
    if (server->sessions->by_id.count >= MCP_SESSIONS_MAX ||
        shares_full(server, principal, MCP_SHARE_SESSIONS, 1))
        return NULL;
    shares_add(server, principal, MCP_SHARE_SESSIONS, 1);

    struct session *session = mem_zalloc(sizeof(*session) + principal.len + 1 + ID_LEN);
    session->server = server;
    session->id = *id;
    memcpy(session->text, principal.at, principal.len);
    session->text[principal.len] = '/';
    memcpy(session->text + principal.len + 1, session->id.text, ID_LEN);
    session->principal_len = (uint16_t)principal.len;
    session->client = (struct client){ .scope = str_n(session->text, principal.len + 1 + ID_LEN),
                                       .revision = REVISION_NEWEST,
                                       .told = true };
    session->log_level = NOD_LOG_INFO;
    list_init(&session->call_list);
    list_init(&session->cancelling);
    list_init(&session->streams);
    ended_pile_init(&session->kept);
    list_init(&session->subscriptions);
    list_init(&session->held);
    list_init(&session->urls);
    list_init(&session->by_use);
    idmap_set(&server->sessions->by_id, session);
    session_touch(session);
    return session;
}

void session_touch(struct session *session)
{
    if (session->ended)
        return;
    session->used_ms = clock_mono(session->server->opts.clock);
    list_remove(&session->by_use);
    list_append(&session->server->sessions->by_use, &session->by_use);
}

struct session *session_here(struct mcp_server *server, struct str id)
{
    return idmap_get(&server->sessions->by_id, id);
}

struct session *session_find(struct mcp_server *server, struct str id, struct str principal)
{
    struct session *session = session_here(server, id);

    return session && str_eq(session_principal(session), principal) ? session : NULL;
}

void session_name_client(struct session *session, const struct json *info)
{
    struct arena arena;

    arena_init(&arena, SESSION_CLIENT_MAX);
    struct str client = client_shown(info, &arena);
    free((char *)(uintptr_t)session->client.name.at);
    session->client.name = client.len ? str_of(str_dup(client)) : STR_NONE;
    arena_finish(&arena);
}

void session_moved(struct session *session)
{
    if (!session->ended || session->busy || session->call_count)
        return;
    list_remove(&session->by_use);
    LIST_EACH (at, &session->streams) {
        struct mcp_stream *stream = LIST_OF(at, struct mcp_stream, link);
        mcp_stream_close(stream); /* its caller has left the call */
        mcp_stream_destroy(stream);
    }
    free((char *)(uintptr_t)session->client.name.at);
    mem_free(session);
}

void session_end(struct session *session, struct str why)
{
    if (session->ended)
        return;
    LOG_DEBUG("session ended", LOG_STR("principal", session_principal(session)),
              LOG_STR("why", why));
    idmap_remove(&session->server->sessions->by_id, session);
    shares_drop(session->server, session_principal(session), MCP_SHARE_SESSIONS, 1);
    list_remove(&session->by_use);
    subscribers_forget(session);
    client_surface_forget(session->server->client, session);

    session->busy = true;
    for (struct list *at; (at = list_first(&session->call_list));) {
        list_remove(at);
        list_append(&session->cancelling, at);
        caller2025_cancel(LIST_OF(at, struct caller2025, link), why, NULL, NULL);
    }
    held2025_end(session);
    session->ended = true;
    LIST_EACH (at, &session->streams) {
        struct mcp_stream *stream = LIST_OF(at, struct mcp_stream, link);
        if (stream->awaited == 0) /* the others end with their calls */
            mcp_stream_close(stream);
    }
    session->busy = false;
    list_append(&session->server->sessions->ending, &session->by_use);
    session_moved(session);
}

static void orphan(struct session *session)
{
    LIST_EACH (at, &session->cancelling) {
        struct caller2025 *call = LIST_OF(at, struct caller2025, link);
        timer_stop(session->server->opts.loop, &call->beat);
        session_drop_call(session, call);
        call->session = NULL;
        call->caller.client = NULL;
    }
    session_moved(session);
}

/* --- all of them --- */

struct sessions *sessions_create(void)
{
    struct sessions *sessions = MEM_NEW(struct sessions);

    idmap_init(&sessions->by_id, MCP_SESSIONS_MAX, offsetof(struct session, id));
    list_init(&sessions->by_use);
    list_init(&sessions->ending);
    return sessions;
}

void sessions_destroy(struct sessions *sessions)
{
    idmap_finish(&sessions->by_id);
    mem_free(sessions);
}

void sessions_end(struct mcp_server *server, struct str why)
{
    struct list *at;

    while ((at = list_first(&server->sessions->by_use))) {
        struct session *session = LIST_OF(at, struct session, by_use);
        LIST_EACH (link, &session->call_list) {
            struct caller2025 *call = LIST_OF(link, struct caller2025, link);
            if (call->stream->of_call && !call->cancelled)
                caller2025_leave(call); /* others may go on with it */
        }
        session_end(session, why);
    }
}

void sessions_stop_waiting(struct mcp_server *server)
{
    LIST_EACH (at, &server->sessions->by_use) {
        struct session *session = LIST_OF(at, struct session, by_use);
        LIST_EACH (link, &session->call_list) {
            struct caller2025 *call = LIST_OF(link, struct caller2025, link);
            if (call->waiting && !call->cancelled && call->stream->of_call) {
                caller2025_leave(call);
            } else if (call->waiting && !call->cancelled && call->attach &&
                       server_survives(server)) {
                soft2025_pend(call, NULL); /* the call waits on, without this process */
            } else if (call->waiting && !call->cancelled) {
                call->cancelled = true;
                call_cancel(call->caller.call, STR("the server is shutting down"));
            }
        }
    }
}

void sessions_orphan(struct mcp_server *server)
{
    LIST_EACH (at, &server->sessions->ending)
        orphan(LIST_OF(at, struct session, by_use));
}

/* --- its calls --- */

static struct str request_id(const struct caller2025 *call)
{
    return str_n(call->text, call->id_len);
}

static struct caller2025 *find_in(const struct list *list, struct str id)
{
    for (const struct list *at = list->next; at != list; at = at->next) {
        struct caller2025 *call = LIST_OF(at, struct caller2025, link);
        if (str_eq(request_id(call), id))
            return call;
    }
    return NULL;
}

struct caller2025 *session_call(const struct session *session, struct str id)
{
    if (session->index)
        return map_get(session->index, id);
    struct caller2025 *call = find_in(&session->call_list, id);
    return call ? call : find_in(&session->cancelling, id);
}

static void index_all(struct session *session, const struct list *list)
{
    for (const struct list *at = list->next; at != list; at = at->next) {
        struct caller2025 *call = LIST_OF(at, struct caller2025, link);
        map_set(session->index, request_id(call), call);
    }
}

void session_add_call(struct session *session, struct caller2025 *call)
{
    list_append(&session->call_list, &call->link);
    shares_add(session->server, session_principal(session), MCP_SHARE_CALLS, 1);
    if (++session->call_count > SESSION_CALLS_LISTED && !session->index) {
        session->index = mem_alloc(sizeof(*session->index));
        map_init(session->index, MCP_CALLS_PER_SESSION_MAX);
        index_all(session, &session->call_list);
        index_all(session, &session->cancelling);
    } else if (session->index) {
        map_set(session->index, request_id(call), call);
    }
}

void session_came_back(struct session *session, const struct mcp_stream *stream, role_set roles)
{
    LIST_EACH (at, &session->call_list) {
        struct caller2025 *call = LIST_OF(at, struct caller2025, link);
        if (call->stream == stream)
            call->caller.roles = roles;
    }
}

void session_drop_call(struct session *session, struct caller2025 *call)
{
    list_remove(&call->link);
    shares_drop(session->server, session_principal(session), MCP_SHARE_CALLS, 1);
    session->call_count--;
    if (!session->index)
        return;
    map_remove(session->index, request_id(call));
    if (session->call_count == 0) {
        map_finish(session->index);
        mem_free(session->index);
        session->index = NULL;
    }
}

/* --- idleness --- */

static bool is_connected(const struct session *session)
{
    for (const struct list *at = session->streams.next; at != &session->streams; at = at->next)
        if (LIST_OF(at, struct mcp_stream, link)->exchange)
            return true;
    return session->lines;
}

bool session_is_idle(const struct session *session)
{
    return !session->call_count && !is_connected(session);
}

/* The store has the session, its calls and its record, and nobody is connected. */
static bool session_may_be_left(const struct session *session)
{
    if (is_connected(session) || !server_survives(session->server) || session->writing ||
        session->version == 0 || session->until_ms > session->stored_until_ms ||
        !list_empty(&session->cancelling))
        return false;
    for (const struct list *at = session->call_list.next; at != &session->call_list;
         at = at->next) {
        const struct caller2025 *call = LIST_OF(at, struct caller2025, link);
        if (!caller2025_may_be_left(call))
            return false;
    }
    return true;
}

/* Ends the session on this node. Its calls go on waiting in the store. */
static void session_leave(struct session *session, struct str why)
{
    LIST_EACH (at, &session->call_list)
        caller2025_leave(LIST_OF(at, struct caller2025, link));
    session_end(session, why);
}

void session_need(struct session *session, int64_t for_ms)
{
    struct mcp_server *server = session->server;
    int64_t now = server_now(server);

    if (session->lines || session->ended || now + for_ms <= session->until_ms)
        return;
    /* A little longer, so that the record is not written for every call. */
    session->until_ms = now + for_ms + server->opts.session_idle_ms;
    session_refresh(session, false);
}

/* Does the session hold something that only this process has? */
static bool keeps_something(const struct session *session)
{
    const struct mcp_server *server = session->server;

    return !ended_pile_empty(&session->kept) ||
           (!server_survives(server) && session->until_ms > server_now(server));
}

void session_sweep(struct mcp_server *server, int64_t now)
{
    struct list *at;

    while ((at = list_first(&server->sessions->by_use))) {
        struct session *session = LIST_OF(at, struct session, by_use);
        if (session->used_ms + server->opts.session_idle_ms > now)
            return;
        if (session_is_idle(session) && !keeps_something(session)) {
            if (!server_survives(server)) /* otherwise other nodes may know it */
                grants_end_session(server->opts.engine, session_principal(session),
                                   session_scope(session));
            session_end(session, STR("the session was idle too long"));
        } else if (session_may_be_left(session) && !keeps_something(session)) {
            session_leave(session, STR("its calls wait in the store, and nobody is connected"));
        } else {
            session_touch(session);
        }
    }
}

/* --- messages outside of calls --- */

/* The newest GET stream that somebody reads, otherwise the newest that can be resumed. */
static struct mcp_stream *session_standing(struct session *session)
{
    struct mcp_stream *found = NULL;

    for (struct list *at = session->streams.prev; at != &session->streams; at = at->prev) {
        struct mcp_stream *stream = LIST_OF(at, struct mcp_stream, link);
        if (!stream->standing)
            continue;
        if (stream->exchange)
            return stream;
        if (!found)
            found = stream;
    }
    return found;
}

bool session_notify(struct session *session, struct str message)
{
    struct mcp_stream *stream = session->lines ? session->lines : session_standing(session);

    if (stream)
        mcp_stream_send(stream, EVENT_VOLATILE, message);
    return stream;
}
