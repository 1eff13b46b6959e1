/*
 * mcp/caller2025: the caller of a held request (era 2025).
 *
 * Takes a request over, starts the call and waits with it: notifications go out on the request's
 * stream, heartbeats while a person thinks, and the result at the end.
 */
#ifndef NOD_MCP_CALLER2025_H
#define NOD_MCP_CALLER2025_H

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

struct caller2025 {
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

struct caller2025_spec {
    struct target *target;
    const struct json *args;
    struct str uri;
    enum revision_part part;
};

/* Replies with an error instead if the id is in use or there are too many. */
void caller2025_start(struct request *request, const struct caller2025_spec *spec);

/*
 * A request that was made of another node, or before a restart: goes on with its call here, on this
 * stream. `handed`: its client has come back with an event id; otherwise it has sent the request
 * again, and gets one before the next step. False, and nothing happened: the session has a request
 * of this id, or too many.
 */
struct caller_record;
bool caller2025_back(struct session *session, struct mcp_stream *stream,
                     const struct call_record *record, const struct caller_record *by,
                     struct target *target, bool handed);

/* It waits for a person, and the store has it: whoever comes back finds it there. */
bool caller2025_may_be_left(const struct caller2025 *call);

/* The server goes, and the store has the call: the client may come back for it. */
void caller2025_leave(struct caller2025 *call);

/* The held request behind a call, or NULL if somebody else made it. */
struct caller2025 *caller2025_of(const struct call *call);

/* By the client (requestId, JSON text) or because of the session: no response is sent. */
void caller2025_cancel(struct caller2025 *call, struct str why);

/* How long its questions wait, and its end is kept after that: its session lives as long. */
int64_t caller2025_needs(const struct mcp_server *server, const struct call *call);

/* What the result of such a target is. */
enum revision_part caller2025_part(enum target_kind kind);

/* Writes how a call ended as a whole response. */
void caller2025_write(struct buf *out, struct str id, enum revision revision,
                      enum revision_part part, const struct outcome *outcome);

#endif
