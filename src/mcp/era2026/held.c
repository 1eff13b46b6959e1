/*
 * mcp/era2026/held: see held.h and mcp/shared/held.h.
 *
 * Over HTTP a client cancels by closing the connection; on stdio it sends notifications/cancelled.
 *
 * Holds always: a struct held2026 lives until its response is over.
 */
#include "mcp/era2026/held.h"

#include "base/mem.h"
#include "mcp/era2026/pipe.h"
#include "mcp/era2026/response.h"

struct held2026 {
    struct response response;
    struct in_flight in_flight;
    struct held *held;
    char id[];
};

static void held2026_free(struct held2026 *own)
{
    pipe_remove(&own->in_flight);
    mem_free(own);
}

static void held2026_answer(struct held *held, struct str message)
{
    struct held2026 *own = held->era;

    response_end(&own->response, 200, message);
    held2026_free(own);
}

static void held2026_gone(struct response *response)
{
    struct held2026 *own = LIST_OF(response, struct held2026, response);

    own->held->gone(own->held);
    held2026_free(own);
}

static void held2026_cancelled(struct in_flight *in_flight)
{
    struct held2026 *own = LIST_OF(in_flight, struct held2026, in_flight);

    own->response.over = true;
    held2026_gone(&own->response);
}

bool held2026_take(struct request *request, struct held *held)
{
    struct held2026 *own = mem_zalloc(sizeof(*own) + request->id.len);

    memcpy(own->id, request->id.at, request->id.len);
    own->held = held;
    if (!pipe_add(request, &own->in_flight, str_n(own->id, request->id.len), held2026_cancelled)) {
        mem_free(own);
        return false;
    }
    response_take(&own->response, request, held2026_gone);
    held->answer = held2026_answer;
    held->era = own;
    return true;
}
