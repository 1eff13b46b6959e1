/*
 * mcp/era2025/caller: the caller of a held request (era 2025).
 *
 * It takes a request over, starts the call and waits for its end. Notifications go out on the
 * request's stream, heartbeats while a person thinks, and the result at the end.
 */
#ifndef NOD_MCP_ERA2025_CALLER_H
#define NOD_MCP_ERA2025_CALLER_H

#include "mcp/era2025/session.h"
#include "mcp/era2025/stream.h"
#include "mcp/shared/request.h"

/* One ask as it was put to this client. */
struct offer {
    struct offer *next;
    uint32_t attempt;
    uint32_t seq;  /* of its event */
    bool answered; /* the client has answered it */
    bool confirm;  /* sent as one required boolean, which is not part of the question */
    uint16_t id_len;
    char id[]; /* of the ask */
};

struct caller2025 {
    struct caller caller;    /* first */
    struct session *session; /* NULL: the server is gone, and nobody listens */
    struct mcp_stream *stream;
    struct list link; /* in the session's list */
    struct offer *offers;
    struct timer beat;
    double progress; /* the last value sent */
    bool progressed; /* a value was sent */
    uint8_t part;    /* enum revision_part of the result */
    bool waiting;
    bool cancelled; /* call_cancel was called */
    bool returned;  /* it is not the request that made the call, but the same once more */
    bool back;      /* it came from another node: which progress was sent there is not known */
    bool quiet;     /* no response: the client has cancelled it, or the session is over */
    bool *over;     /* set when the call has ended, while it is being started */
    struct attach *attach; /* it looks for a call that was made before, or has found it; or NULL */
    struct soft *soft;     /* its questions are, or were, up elsewhere only; or NULL */
    int64_t began;         /* by the loop's clock */
    uint16_t id_len;
    uint16_t token_len;
    char text[]; /* the request's id, then the progress token, both JSON */
};

/* Replies with an error if the id is in use, or if there are too many requests. */
void caller2025_start(struct request *request, const struct start_spec *spec);

/*
 * A request that was made at another node or before a restart goes on, on this stream: it waits for
 * its call as `spec` says. `handed`: its client has come back with an event id. Otherwise it has
 * sent the request again, and gets an id before the next step. NULL, and nothing happened: the
 * session has a request of this id, or too many.
 */
struct caller_record;
struct caller2025 *caller2025_back(struct session *session, role_set roles,
                                   struct mcp_stream *stream, enum target_kind kind,
                                   const struct caller_record *by, bool handed,
                                   struct adopt_spec *spec);
/* It could not have the call. Its stream stays. */
void caller2025_not_back(struct caller2025 *call);

/* The same for a request that had found a call which was made before (attach.h). */
struct attach_note;
bool caller2025_back_attached(struct session *session, role_set roles, struct mcp_stream *stream,
                              const struct caller_record *by, const struct attach_note *note);
/* How the client can be reached from any node, as it is stored. The text is in the arena. */
struct str caller2025_record(const struct caller2025 *call, struct arena *arena);

/* The call waits for a person, and the store has it: a client that comes back finds it there. */
bool caller2025_may_be_left(const struct caller2025 *call);

/* The caller leaves its call, which stays in the store: the client may come back for it. */
void caller2025_leave(struct caller2025 *call);

/* --- with mcp/era2025/attach --- */

/* The request makes a call of its own, of this id. */
void caller2025_begin(struct caller2025 *call, const struct start_spec *spec, const struct id *id,
                      bool named);
/* Its call has ended, and may have a handle: the result is given out if somebody is there. */
void caller2025_found_ended(struct caller2025 *call);
/* The store could not be told who gets the result. The request waits until the store can: again()
 * tries it. At a stop its stream ends without a response, and the client comes back. False: at a
 * stop of a pipe, where a client is to be told something. */
bool caller2025_end_later(struct caller2025 *call, struct timer *timer, void (*again)(void *data),
                          void *data);
/* The store is away, and nothing was begun by this request. It is told so with the HTTP status 503;
 * a stream that has begun ends without a response, and its client comes back. */
void caller2025_refuse_later(struct caller2025 *call, const struct outcome *why);
/* Responds with this end. The caller has no call, and is freed. */
void caller2025_respond(struct caller2025 *call, const struct outcome *outcome);

/* The held request of a call, or NULL if the call has another caller. */
struct caller2025 *caller2025_of(const struct call *call);

/* The client has come back to this stream with an event id, which some forget with the connection:
 * one that cannot be given it without data gets it with a progress notification, if it has a token.
 */
void caller2025_taken_up(struct session *session, const struct mcp_stream *stream);

/* The client, or the end of its session, cancels the call. No response is sent. `done`, which may
 * be NULL, is called once, perhaps before this returns: see call_cancel_then. */
void caller2025_cancel(struct caller2025 *call, struct str why,
                       void (*done)(void *data, nod_status status), void *data);

/* How long its questions wait and its end is kept: the session must live as long. */
int64_t caller2025_needs(const struct mcp_server *server, const struct call *call);
/* The session of this call, which may be at another node, is kept for so long. */
void caller2025_keeps_session(struct mcp_server *server, const struct call *call);

/* The part of the protocol that the result of such a target is. */
enum revision_part caller2025_part(enum target_kind kind);

/* Writes the end of a call as a whole response. */
void caller2025_write(struct buf *out, struct str id, enum revision revision,
                      enum revision_part part, const struct outcome *outcome);

#endif
