/*
 * mcp/era2025/held: see held.h and mcp/shared/held.h.
 *
 * The response goes out on the request's stream, as that of a call does. A client that loses its
 * connection may send the request again; nothing is kept for it. It cancels with
 * notifications/cancelled.
 *
 * Holds always: a held request is in its session's list, and its stream awaits a response, until it
 * is answered or gone.
 */
#include "mcp/era2025/held.h"

#include "base/mem.h"
#include "mcp/era2025/stream.h"

struct held2025 {
    struct list link; /* of the session */
    struct session *session;
    struct mcp_stream *stream;
    struct held *held;
    size_t len;
    char id[];
};

static struct held2025 *held2025_find(struct session *session, struct str id)
{
    for (struct list *at = session->held.next; at != &session->held; at = at->next) {
        struct held2025 *own = LIST_OF(at, struct held2025, link);
        if (str_eq(str_n(own->id, own->len), id))
            return own;
    }
    return NULL;
}

static void held2025_free(struct held2025 *own)
{
    own->session->held_count--;
    list_remove(&own->link);
    mem_free(own);
}

static void held2025_answer(struct held *held, struct str message)
{
    struct held2025 *own = held->era;
    struct mcp_stream *stream = own->stream;

    held2025_free(own);
    mcp_stream_respond(stream, message);
}

static void held2025_gone(struct held2025 *own)
{
    struct mcp_stream *stream = own->stream;

    own->held->gone(own->held);
    held2025_free(own);
    mcp_stream_skip(stream);
}

bool held2025_cancel(struct session *session, struct str id)
{
    struct held2025 *own = held2025_find(session, id);

    if (own)
        held2025_gone(own);
    return own;
}

void held2025_end(struct session *session)
{
    struct list *at;

    while ((at = list_first(&session->held)))
        held2025_gone(LIST_OF(at, struct held2025, link));
}

bool held2025_take(struct request *request, struct held *held)
{
    struct session *session = request->session;

    if (session_call(session, request->id) || held2025_find(session, request->id)) {
        reply_error(
            request, RPC_INVALID_REQUEST,
            STR("A request with this id is still being worked on; give each request its own."));
        return false;
    }
    if (session->held_count >= MCP_HELD_PER_SESSION_MAX) {
        reply_errorf(request, RPC_INVALID_REQUEST,
                     "%d requests of this session wait for a response; wait for one to end.",
                     MCP_HELD_PER_SESSION_MAX);
        return false;
    }
    struct held2025 *own = mem_zalloc(sizeof(*own) + request->id.len);
    if (!request->stream)
        request->stream = mcp_stream_held(session, request->exchange, false);
    own->session = session;
    own->stream = request->stream;
    own->held = held;
    own->len = request->id.len;
    memcpy(own->id, request->id.at, request->id.len);
    mcp_stream_await(own->stream);
    list_append(&session->held, &own->link);
    session->held_count++;
    request->later = true;
    held->answer = held2025_answer;
    held->era = own;
    return true;
}
