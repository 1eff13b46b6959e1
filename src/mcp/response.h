/*
 * mcp/response: the way back to one request of the 2026 era.
 *
 * Over HTTP a response is plain JSON as long as nothing but the answer is sent; the first
 * notification turns it into server-sent events. On stdio it is a line like all others. A response
 * is ended exactly once; nobody resumes one.
 */
#ifndef NOD_MCP_RESPONSE_H
#define NOD_MCP_RESPONSE_H

#include "mcp/request.h"

struct response {
    struct mcp_server *server;
    struct http_exchange *exchange; /* HTTP */
    bool pipe;                      /* stdio */
    bool events;                    /* server-sent events have begun */
    bool over;                      /* ended, or the client is gone */
    void (*gone)(struct response *response);
};

/*
 * Takes the request over: request->later is set. gone() is called if the client goes away first
 * (or, on stdio, with the pipe); the response is over then. It may be called from inside of
 * response_notify.
 */
void response_take(struct response *response, struct request *request,
                   void (*gone)(struct response *response));
/* It stands in another place now. */
void response_moved(struct response *response);
/* Progress, logs: dropped if the client does not read. */
void response_notify(struct response *response, struct str message);
/* False: it was not sent, because the client does not read what it asked for. */
bool response_event(struct response *response, struct str message);
/* A sign of life, where there are events. */
void response_comment(struct response *response);
/* The answer. `status` counts only while there are no events. */
void response_end(struct response *response, int status, struct str message);
/* Nobody is to be told anything: events are cut off, and on stdio nothing is said. */
void response_drop(struct response *response);

#endif
