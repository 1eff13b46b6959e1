/*
 * mcp/mcp_call: the caller of a held request (era 2025).
 *
 * Takes a request over, starts the call and waits with it: notifications go out on the request's
 * stream, heartbeats while a person thinks, and the result at the end.
 */
#ifndef NOD_MCP_MCP_CALL_H
#define NOD_MCP_MCP_CALL_H

#include "mcp/request.h"

/* One ask as it was put to this client. */
struct offer {
    struct offer *next;
    uint32_t attempt;
    bool answered; /* by the client itself */
    bool confirm;  /* drawn as one required boolean, which is not part of the question */
    uint16_t id_len;
    char id[]; /* of the ask */
};

struct mcp_call {
    struct caller caller;    /* first */
    struct session *session; /* NULL: the server is gone, and nobody listens */
    struct mcp_stream *stream;
    struct list link; /* of the session */
    struct offer *offers;
    struct timer beat;
    double progress; /* the last value sent */
    bool progressed; /* one was sent */
    uint8_t part;    /* enum revision_part of the result */
    bool waiting;
    bool cancelled; /* call_cancel was called */
    bool *over;     /* told when it has ended, while it is being started */
    bool back;      /* it came from another node: what progress was told there is not known */
    bool quiet;     /* no response: the client has cancelled it, or the session is over */
    uint16_t id_len;
    uint16_t token_len;
    char text[]; /* the request's id, then the progress token, both JSON */
};

struct mcp_call_spec {
    struct target *target;
    const struct json *args;
    struct str uri;
    enum revision_part part;
};

/* Replies with an error instead if the id is in use or there are too many. */
void mcp_call_start(struct request *request, const struct mcp_call_spec *spec);

/*
 * A request that was made of another node, or before a restart: goes on with its call here, on this
 * stream. `handed`: its client has come back with an event id; otherwise it has sent the request
 * again, and gets one before the next step. False, and nothing happened: the session has a request
 * of this id, or too many.
 */
struct came_by;
bool mcp_call_back(struct session *session, struct mcp_stream *stream,
                   const struct call_record *record, const struct came_by *by,
                   struct target *target, bool handed);

/* The server goes, and the store has the call: the client may come back for it. */
void mcp_call_leave(struct mcp_call *call);

/* The held request behind a call, or NULL if somebody else made it. */
struct mcp_call *mcp_call_of(const struct call *call);

/* By the client (requestId, JSON text) or because of the session: no response is sent. */
void mcp_call_cancel(struct mcp_call *call, struct str why);

/* How long its questions wait, and its end is kept after that: its session lives as long. */
int64_t mcp_call_needs(const struct mcp_server *server, const struct call *call);

/* What the result of such a target is. */
enum revision_part mcp_call_part(enum target_kind kind);

/* Writes how a call ended as a whole response. */
void mcp_call_write(struct buf *out, struct str id, enum revision revision, enum revision_part part,
                    const struct outcome *outcome);

#endif
