/*
 * mcp/shared/announce: what nodes that share a store tell each other.
 *
 *   <node> u <uri>        this resource has changed
 *   <node> s <session>    the record of this session has changed
 *   <node> d <id>         the page of this elicitation is done
 *   <node> c <session> <id>   the same, and whose it was: for the node where that session listens
 *   <node> r <ask> <attempt>  the client has refused this question: for the node that asks it
 *
 * A client may subscribe at one node and listen at another, and the resource may change at a third.
 * So what a session subscribes to is in its record (mcp/era2025/session_store), and a change is
 * told to all nodes; those that hold streams of subscribers tell them. These are hints. A lost one
 * costs a client a notification, which MCP does not guarantee, or a question its early turn on the
 * node that asks it, and nothing else.
 *
 * Holds always: what came from another node is not announced again.
 */
#include "mcp/shared/announce.h"

#include "base/mem.h"
#include "mcp/shared/server_inside.h"

struct announcer {
    struct id name; /* of this server, to the others */
    void (*heard)(struct mcp_server *server, char what, struct str rest);
};

static struct store *store_of(const struct mcp_server *server)
{
    return engine_store(server->opts.engine);
}

static void say(struct mcp_server *server, char what, struct str text)
{
    struct store *store = store_of(server);
    struct buf out;

    if (!store->ops->announce)
        return;
    buf_init(&out, ID_LEN + 3 + MCP_URI_MAX);
    buf_fmt(&out, "%s %c ", server->announcer->name.text, what);
    buf_add(&out, text);
    if (!out.overflow)
        store->ops->announce(store, buf_str(&out));
    buf_finish(&out);
}

void announce_updated(struct mcp_server *server, struct str uri)
{
    say(server, 'u', uri);
}

void announce_session(struct mcp_server *server, const struct id *session)
{
    say(server, 's', id_str(session));
}

void announce_url_done(struct mcp_server *server, struct str elicitation_id)
{
    say(server, 'd', elicitation_id);
}

void announce_complete(struct mcp_server *server, const struct id *session,
                       struct str elicitation_id)
{
    struct buf text;

    buf_init(&text, MCP_URI_MAX);
    buf_fmt(&text, STR_FMT " " STR_FMT, STR_ARG(id_str(session)), STR_ARG(elicitation_id));
    say(server, 'c', buf_str(&text));
    buf_finish(&text);
}

void announce_refused(struct mcp_server *server, struct str ask_id, uint32_t attempt)
{
    struct buf text;

    buf_init(&text, MCP_URI_MAX);
    buf_fmt(&text, STR_FMT " %u", STR_ARG(ask_id), (unsigned)attempt);
    say(server, 'r', buf_str(&text));
    buf_finish(&text);
}

/* What another node has told: the letter, and the rest. */
static void heard(void *data, struct str text)
{
    struct mcp_server *server = data;
    struct str node, what, rest;

    if (text.len <= ID_LEN + 3 + MCP_URI_MAX && str_cut(text, ' ', &node, &text) &&
        str_cut(text, ' ', &what, &rest) && what.len == 1 &&
        !str_eq(node, id_str(&server->announcer->name)))
        server->announcer->heard(server, what.at[0], rest);
}

void announce_listen(struct mcp_server *server,
                     void (*on_heard)(struct mcp_server *server, char what, struct str rest))
{
    struct store *store = store_of(server);

    server->announcer = MEM_NEW(struct announcer);
    server->announcer->heard = on_heard;
    id_random(&server->announcer->name);
    if (store->ops->watch_announced)
        store->ops->watch_announced(store, heard, server);
}

void announce_stop(struct mcp_server *server)
{
    struct store *store = store_of(server);

    if (store->ops->watch_announced)
        store->ops->watch_announced(store, NULL, NULL);
    mem_free(server->announcer);
    server->announcer = NULL;
}
