/*
 * rpc/peer: a map of outstanding requests by id text, and a heap of their deadlines.
 *
 * Holds always: a request is taken out of both before its done() is called. That is what makes
 * "exactly once" true whatever done() does: nobody can find the request again, neither a repeated
 * response, nor a tick, nor a finish that runs inside it. Loops that call done() keep no pointer
 * into the tables across the call.
 *
 * It does not number requests, send bytes or tell the other side that it has given up.
 */
#include "rpc/peer.h"

#include "base/mem.h"

struct waiting {
    struct heap_node due; /* not in the heap when there is no deadline */
    rpc_done *done;
    void *data;
    size_t len;
    char id[];
};

void rpc_peer_init(struct rpc_peer *peer, size_t limit)
{
    *peer = (struct rpc_peer){ 0 };
    map_init(&peer->waiting, limit);
    heap_init(&peer->due);
}

static void set_deadline(struct rpc_peer *peer, struct waiting *waiting, int64_t deadline_ms)
{
    if (deadline_ms == INT64_MAX)
        heap_remove(&peer->due, &waiting->due);
    else
        heap_set(&peer->due, &waiting->due, deadline_ms);
}

/* Takes it out, so that it cannot be found again; the caller ends it. */
static struct waiting *take(struct rpc_peer *peer, struct str id)
{
    struct waiting *waiting = map_remove(&peer->waiting, id);

    if (waiting)
        heap_remove(&peer->due, &waiting->due);
    return waiting;
}

static void end(struct waiting *waiting, nod_status status, const struct rpc_message *message)
{
    rpc_done *done = waiting->done;
    void *data = waiting->data;

    mem_free(waiting);
    done(status, message, data);
}

static struct str id_of(const struct waiting *waiting)
{
    return str_n(waiting->id, waiting->len);
}

void rpc_peer_finish(struct rpc_peer *peer)
{
    struct waiting *waiting;
    size_t at = 0;

    /* Nothing is added from here on, so one walk sees everything, whatever is removed under it. */
    peer->finished = true;
    while ((waiting = map_next(&peer->waiting, &at)))
        end(take(peer, id_of(waiting)), NOD_E_CANCELLED, NULL);
    map_finish(&peer->waiting);
    heap_finish(&peer->due);
}

nod_status rpc_peer_expect(struct rpc_peer *peer, struct str id, int64_t deadline_ms,
                           rpc_done *done, void *data)
{
    if (peer->finished)
        return NOD_E_CANCELLED;
    if (id.len == 0 || id.len > RPC_ID_MAX || map_get(&peer->waiting, id))
        return NOD_E_USAGE;

    struct waiting *waiting = mem_zalloc(sizeof(*waiting) + id.len);
    waiting->done = done;
    waiting->data = data;
    waiting->len = id.len;
    memcpy(waiting->id, id.at, id.len);
    if (!map_set(&peer->waiting, id_of(waiting), waiting)) {
        mem_free(waiting);
        return NOD_E_LIMIT;
    }
    set_deadline(peer, waiting, deadline_ms);
    return NOD_OK;
}

bool rpc_peer_response(struct rpc_peer *peer, const struct rpc_message *message)
{
    if (message->kind != RPC_RESULT && message->kind != RPC_ERROR)
        return false;
    struct waiting *waiting = take(peer, message->id);
    if (!waiting) {
        peer->unmatched++;
        return false;
    }
    end(waiting, NOD_OK, message);
    return true;
}

bool rpc_peer_extend(struct rpc_peer *peer, struct str id, int64_t deadline_ms)
{
    struct waiting *waiting = map_get(&peer->waiting, id);

    if (waiting)
        set_deadline(peer, waiting, deadline_ms);
    return waiting != NULL;
}

bool rpc_peer_forget(struct rpc_peer *peer, struct str id)
{
    struct waiting *waiting = take(peer, id);

    mem_free(waiting);
    return waiting != NULL;
}

void rpc_peer_tick(struct rpc_peer *peer, int64_t now_ms)
{
    /* At most as many as there are now: a done() that always asks again cannot hold the loop. */
    for (size_t left = peer->due.count; left > 0; left--) {
        struct heap_node *first = heap_first(&peer->due);
        if (!first || first->at > now_ms)
            return;
        struct waiting *waiting = HEAP_OF(first, struct waiting, due);
        end(take(peer, id_of(waiting)), NOD_E_TIMEOUT, NULL);
    }
}

int64_t rpc_peer_deadline(const struct rpc_peer *peer)
{
    struct heap_node *first = heap_first(&peer->due);

    return first ? first->at : INT64_MAX;
}
