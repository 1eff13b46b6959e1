/*
 * mcp/shared/live: see live.h.
 */
#include "mcp/shared/live.h"

#include "mcp/shared/server_inside.h"

void live_call_began(struct mcp_server *server)
{
    server->live.calls++;
}

void live_call_ended(struct mcp_server *server)
{
    server->live.calls--;
}

void live_call_waits(struct mcp_server *server, bool waits)
{
    if (waits)
        server->live.waiting++;
    else
        server->live.waiting--;
}

void server_check_drained(struct mcp_server *server)
{
    server->live.changed(server);
}

bool server_draining(const struct mcp_server *server)
{
    return server->live.draining;
}
