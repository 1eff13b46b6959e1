/*
 * rpc/peer: our own outstanding requests to the other side.
 *
 * A response is matched by the exact JSON text of its id and by nothing else; one that matches
 * nothing (late, foreign, repeated) is reported and changes nothing. Every request has a deadline.
 * `done` is called exactly once for each request: with a response, or with NOD_E_TIMEOUT,
 * NOD_E_CANCELLED. The peer sends nothing itself: the owner writes the bytes.
 *
 * `done` may call any function here on the same peer, rpc_peer_finish included; by then its own
 * request is no longer outstanding, and its id may be used again. It may not free the peer's
 * memory. A peer belongs to one thread.
 */
#ifndef NOD_RPC_PEER_H
#define NOD_RPC_PEER_H

#include "base/heap.h"
#include "base/map.h"
#include "rpc/message.h"

struct rpc_peer {
    struct map waiting; /* by id text */
    struct heap due;
    uint64_t unmatched; /* responses that matched nothing */
    bool finished;
};

/* status NOD_OK: message is the response (RPC_RESULT or RPC_ERROR). Otherwise message is NULL. */
typedef void rpc_done(nod_status status, const struct rpc_message *message, void *data);

void rpc_peer_init(struct rpc_peer *peer, size_t limit);
/* Ends every outstanding request with NOD_E_CANCELLED. The peer takes no new one afterwards. */
void rpc_peer_finish(struct rpc_peer *peer);

/*
 * NOD_E_USAGE: the id is in use, empty or longer than RPC_ID_MAX. NOD_E_LIMIT: too many.
 * NOD_E_CANCELLED: the peer is finished. In all three cases done is not called.
 * The id is copied. deadline_ms: monotonic, INT64_MAX for none.
 */
nod_status rpc_peer_expect(struct rpc_peer *peer, struct str id, int64_t deadline_ms,
                           rpc_done *done, void *data);
/* True if it was one of ours; done() has been called. */
bool rpc_peer_response(struct rpc_peer *peer, const struct rpc_message *message);
/* Moves the deadline of an outstanding request. False if there is none of that id. */
bool rpc_peer_extend(struct rpc_peer *peer, struct str id, int64_t deadline_ms);
/* Forgets it without calling done. True if it was there. */
bool rpc_peer_forget(struct rpc_peer *peer, struct str id);
/* Ends what is due. What done() adds during a tick may wait for the next one. */
void rpc_peer_tick(struct rpc_peer *peer, int64_t now_ms);
/* When the next tick is due, or INT64_MAX. */
int64_t rpc_peer_deadline(const struct rpc_peer *peer);

static inline size_t rpc_peer_count(const struct rpc_peer *peer)
{
    return peer->waiting.count;
}

#endif
