/*
 * net/http_share: strangers and owners, and how much each may hold.
 *
 * A connection begins as a stranger's: it is not known whose it is. Strangers have a small share of
 * connections and memory. A new one is let in at the cost of the one that has waited longest. So an
 * attacker that opens connections and sends nothing pushes out its own. If newcomers were refused
 * instead, everybody would be shut out, which is what the attacker wants.
 *
 * Once on_head trusts a connection, it counts in the share of the owner that on_head names. Past
 * that share the owner is told 429; nobody else is affected. What counts is what is read of
 * requests, what is in use to make a response (http_hold), and what is not sent of one. A response
 * that is there is always sent: it is the next request that is refused. A connection may carry
 * requests of several owners, one after the other (a proxy's): it counts for the last one.
 *
 * What an owner, a principal, has in a store is counted there: docs/inside/store.md, "Whose bytes".
 *
 * Holds always: a connection is in one of the two lists until it is freed. What it holds is counted
 * in the server, and in the strangers' share or its owner's.
 */
#include "net/http_inside.h"

#include "base/mem.h"

void share_known(struct http_conn *conn)
{
    struct http_server *server = conn->server;

    if (!conn->stranger)
        return;
    conn->stranger = false;
    server->stranger_count--;
    server->stranger_memory -= conn->counted;
    list_remove(&conn->link);
    list_append(&server->connections, &conn->link);
}

/* If it was sending a request it is told why, but nobody waits for it to read that. */
static void stranger_close(struct http_conn *conn)
{
    share_known(conn);
    if (conn->incoming && !conn->ending)
        response_refuse(conn, 503, "too many connections without a token; try again later");
    conn_close(conn);
}

static struct http_conn *oldest_stranger(const struct http_server *server)
{
    struct list *at = list_first(&server->strangers);

    return at ? LIST_OF(at, struct http_conn, link) : NULL;
}

void share_stranger(struct http_conn *conn)
{
    struct http_server *server = conn->server;
    const struct http_limits *limits = &server->opts.limits;

    if (server->stranger_count >=
            (limits->strangers_max ? limits->strangers_max : limits->connections_max) &&
        server->stranger_count)
        stranger_close(oldest_stranger(server));
    conn->stranger = true;
    server->stranger_count++;
    list_append(&server->strangers, &conn->link);
}

bool share_has_place(struct http_server *server)
{
    if (server->connection_count <= server->opts.limits.connections_max)
        return true;
    if (!server->opts.limits.strangers_max || !server->stranger_count)
        return false;
    stranger_close(oldest_stranger(server)); /* its place is free once it is gone */
    return true;
}

void share_bound_strangers(struct http_conn *conn)
{
    struct http_server *server = conn->server;
    size_t most = server->opts.limits.strangers_memory_max;
    struct http_conn *oldest;

    while (most && server->stranger_memory > most && (oldest = oldest_stranger(server)) &&
           oldest != conn)
        stranger_close(oldest);
}

/* --- owners --- */

static struct http_owner *owner_find(struct http_server *server, struct str who)
{
    struct http_owner *owner = map_get(&server->owners, who);

    if (owner)
        return owner;
    owner = mem_zalloc(sizeof(*owner) + who.len);
    owner->len = who.len;
    memcpy(owner->name, who.at, who.len);
    if (map_set(&server->owners, str_n(owner->name, owner->len), owner))
        return owner;
    mem_free(owner);
    return NULL;
}

static void owner_drop(struct http_server *server, struct http_owner *owner)
{
    if (owner->connections)
        return;
    map_remove(&server->owners, str_n(owner->name, owner->len));
    mem_free(owner);
}

void share_disown(struct http_conn *conn)
{
    struct http_owner *owner = conn->owner;

    if (!owner)
        return;
    conn->owner = NULL;
    owner->memory -= conn->counted;
    owner->connections--;
    owner_drop(conn->server, owner);
}

bool share_own(struct http_conn *conn, struct str who)
{
    struct http_server *server = conn->server;
    size_t most = server->opts.limits.owner_connections_max;

    if (conn->owner && str_eq(str_n(conn->owner->name, conn->owner->len), who))
        return true;
    share_disown(conn);
    struct http_owner *owner = who.len ? owner_find(server, who) : NULL;
    if (!owner)
        return true;
    if (most && owner->connections >= most) {
        owner_drop(server, owner);
        return false;
    }
    owner->connections++;
    owner->memory += conn->counted;
    conn->owner = owner;
    return true;
}

/* --- memory --- */

void share_count(struct http_conn *conn, size_t now)
{
    struct http_server *server = conn->server;

    server->memory = server->memory - conn->counted + now;
    if (conn->stranger)
        server->stranger_memory = server->stranger_memory - conn->counted + now;
    if (conn->owner)
        conn->owner->memory = conn->owner->memory - conn->counted + now;
    conn->counted = now;
}

static bool fits(size_t held, size_t more, size_t most)
{
    return held < most && more <= most - held;
}

int share_refuses(const struct http_conn *conn, size_t held, size_t more)
{
    const struct http_server *server = conn->server;
    const struct http_limits *limits = &server->opts.limits;
    const struct http_owner *owner = conn->owner;

    if (owner && limits->owner_memory_max &&
        !fits(owner->memory - conn->counted + held, more, limits->owner_memory_max))
        return 429;
    return fits(server->memory - conn->counted + held, more, limits->memory_max) ? 0 : 503;
}
