/*
 * mcp/shared/work: see work.h.
 *
 * Holds always: a work is in the server's list from server_work_add to server_work_done, or until
 * the server is destroyed.
 */
#include "mcp/shared/work.h"

#include "mcp/shared/live.h"
#include "mcp/shared/server_inside.h"

void server_work_add(struct mcp_server *server, struct server_work *work)
{
    work->server = server;
    list_append(&server->works, &work->link);
}

void server_work_done(struct server_work *work)
{
    list_remove(&work->link);
    if (work->server && server_draining(work->server))
        server_check_drained(work->server);
}

bool server_works(const struct mcp_server *server)
{
    return !list_empty(&server->works);
}

void server_work_drop_all(struct mcp_server *server)
{
    LIST_EACH (at, &server->works) {
        struct server_work *work = LIST_OF(at, struct server_work, link);
        list_remove(at);
        if (work->drop)
            work->drop(work);
        else
            work->server = NULL;
    }
}
