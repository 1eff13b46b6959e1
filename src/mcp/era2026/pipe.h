/*
 * mcp/era2026/pipe: requests of the 2026 era on stdio.
 */
#ifndef NOD_MCP_ERA2026_PIPE_H
#define NOD_MCP_ERA2026_PIPE_H

#include "base/map.h"
#include "mcp/shared/request.h"

enum { MCP_PIPE_REQUESTS_MAX = 1024 }; /* requests of era 2026 in flight on stdio */

struct pipe2026 {
    struct map requests; /* id -> struct in_flight */
    /* Sends a line to whoever reads the pipe; NULL: there is no pipe. A line that is not `kept` may
     * be left out if the reader is slow. */
    void (*send)(struct mcp_server *server, bool kept, struct str line);
};
struct pipe2026 *pipe2026_create(void);
void pipe2026_destroy(struct pipe2026 *pipe);
/* False: there is no pipe. */
bool pipe_send(struct mcp_server *server, bool kept, struct str line);

/* A request of this era; and a cancellation. True: it cancelled a request of this era. */
void era2026_line(struct mcp_server *server, const struct rpc_message *message);
bool era2026_cancelled(struct mcp_server *server, const struct json *params);
/* Is a request of this era in flight on the pipe? */
bool era2026_on_pipe(const struct mcp_server *server);
/* The pipe is gone. */
void era2026_pipe_closed(struct mcp_server *server);

struct in_flight {
    struct mcp_server *server;
    void (*cancel)(struct in_flight *in_flight); /* by the client: no response is sent */
    size_t id_len;
    const char *id; /* its JSON text, which belongs to the owner */
};

/* False: an error was replied, because the id is in use or there are too many. Does nothing over
 * HTTP. */
bool pipe_add(struct request *request, struct in_flight *in_flight, struct str id,
              void (*cancel)(struct in_flight *in_flight));
/* Does nothing if it is not in the table. */
void pipe_remove(struct in_flight *in_flight);
/* The struct and its id have been moved in memory. */
void pipe_moved(struct in_flight *in_flight, const char *id);

#endif
