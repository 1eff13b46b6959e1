/*
 * mcp/heard: what another node has told, or this one has noticed, and whom it concerns here.
 *
 * mcp/shared/announce has the list of what is told. The clients of both eras are told from here.
 */
#include "mcp/parts.h"

#include "mcp/era2025/ask.h"
#include "mcp/era2025/session_store.h"
#include "mcp/era2025/subscribers.h"
#include "mcp/era2026/methods.h"
#include "mcp/shared/announce.h"
#include "mcp/shared/server_inside.h"

static void resource_updated(struct mcp_server *server, struct str uri)
{
    subscriptions_updated(server, uri);
    subscribers_updated(server, uri);
}

static void heard(struct mcp_server *server, char what, struct str rest)
{
    struct session *session;
    struct str id, more;
    uint64_t attempt;

    switch (what) {
    case 'u':
        resource_updated(server, rest);
        break;
    case 's':
        if (rest.len == ID_LEN)
            session_look_again(server, rest);
        break;
    case 'd':
        client_surface_url_done(server->client, rest);
        break;
    case 'c':
        session = str_cut(rest, ' ', &id, &more) ? session_here(server, id) : NULL;
        if (session)
            client_surface_complete(session, more);
        break;
    case 'r':
        if (str_cut(rest, ' ', &id, &more) && str_to_u64(more, &attempt))
            client_surface_refused(server->client, id, attempt);
        break;
    }
}

void heard_listen(struct mcp_server *server)
{
    announce_listen(server, heard);
}

void mcp_resource_updated(struct mcp_server *server, struct str uri)
{
    resource_updated(server, uri);
    announce_updated(server, uri);
}
