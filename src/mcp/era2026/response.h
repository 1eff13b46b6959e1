/*
 * mcp/era2026/response: the way back to one request of the 2026 era.
 *
 * Over HTTP a response is plain JSON if nothing but the answer is sent. The first notification
 * turns it into server-sent events. On stdio it is a line like any other. A response is ended
 * exactly once, and cannot be resumed.
 */
#ifndef NOD_MCP_ERA2026_RESPONSE_H
#define NOD_MCP_ERA2026_RESPONSE_H

#include "mcp/shared/request.h"

struct response {
    struct mcp_server *server;
    struct http_exchange *exchange; /* HTTP */
    bool pipe;                      /* stdio */
    bool events;                    /* server-sent events have begun */
    bool over;                      /* ended, or the client is gone */
    void (*gone)(struct response *response);
};

/*
 * Takes the request over: request->later is set. gone() is called if the client goes away first (on
 * stdio: if the pipe closes); the response is over then. It may be called from inside
 * response_notify.
 */
void response_take(struct response *response, struct request *request,
                   void (*gone)(struct response *response));
/* The struct has been moved in memory. */
void response_moved(struct response *response);
/* Sends progress or a log message. Dropped if the client does not read. */
void response_notify(struct response *response, struct str message);
/* False: it was not sent, because the client does not read. */
bool response_event(struct response *response, struct str message);
/* A sign of life, once server-sent events have begun. */
void response_comment(struct response *response);
/* Sends the answer. `status` counts only if no events have been sent. */
void response_end(struct response *response, int status, struct str message);
/* Ends the response without an answer: events are cut off, and on stdio nothing is sent. */
void response_drop(struct response *response);

#endif
