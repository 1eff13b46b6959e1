/*
 * mcp/later/handle: what the store remembers of a pending result that was given out.
 *
 * A call that waits for a person elsewhere is not held for ever. Its client is given a pending
 * result, which names the call: that is its handle. A small record says that it went out, who holds
 * the call again since then, and who was handed the result.
 *
 * The key begins with a digest of the principal, the tool and the arguments, and ends with the id
 * of the call. So both "the call of this id" and "my call of this tool with these arguments" are
 * found, on every node, and never the call of another principal.
 *
 * Holds always: whoever calls again with the same arguments is given a result only if no request
 * was given it before. So a result whose call may have such a record is given out only after the
 * record says so. A handle of the 2026 era is found by its name only: there, calling again is a new
 * call.
 */
#ifndef NOD_MCP_LATER_HANDLE_H
#define NOD_MCP_LATER_HANDLE_H

#include "base/id.h"
#include "core/comeback.h"
#include "crypto/digest.h"
#include "mcp/server.h"

enum {
    HANDLE_KEY_LEN = 2 * ID_LEN,
    HANDLES_FOUND_MAX = 8,   /* handles of one principal, tool and arguments that are looked at */
    HANDLE_AGAIN_MS = 60000, /* a result that was handed out is given again by its handle so long */
    HANDLE_HELD_MORE_MS = 5000, /* on top of the soft deadline, before another node takes it over */
};

struct handle {
    char key[HANDLE_KEY_LEN + 1];
    uint64_t version;
    int64_t collected_ms; /* the store's clock: the result was handed out; 0: not yet */
    int64_t held_until;   /* the store's clock: a request has the call until then; 0: none has */
    bool named;           /* it is found by its name only, not by what its call was made with */
    struct id node;       /* where */
    struct id by;         /* which request was handed the result */
};

/* The key without the id of the call. `args`: digest_of_args. */
void handle_prefix(struct str principal, struct str tool, const struct digest *args,
                   char out[ID_LEN + 1]);
void handle_key(struct str principal, struct str tool, struct str args, struct str call_id,
                char out[HANDLE_KEY_LEN + 1]);
struct str handle_call(const struct handle *handle);
/* Does a request have the call now, on another node? */
bool handle_is_held(const struct mcp_server *server, const struct handle *handle);

/* Writes the record; `version` as in store_ops.put. `done` may be NULL; it is
 * given NOD_E_STORE when the server is gone. */
void handle_put(struct mcp_server *server, const struct handle *handle, struct str whose,
                uint64_t version, int64_t ttl_ms, void (*done)(void *data, nod_status status),
                void *data);
/* The result is about to be handed out: the record says so before done(NOD_OK). `by`: to which
 * request; NULL: to whoever names the handle. */
void handle_hand_out(struct mcp_server *server, const struct handle *handle, const struct id *by,
                     struct str whose, void (*done)(void *data, nod_status status), void *data);
/* The result of this call is about to be given to the request that made it. If there is a record,
 * it says so before done(NOD_OK): see era2025/soft.h. NOD_E_STORE: it must not be given now. */
void handle_collect(struct mcp_server *server, const char *key,
                    void (*done)(void *data, nod_status status), void *data);
/* The same for a comer that has found this end (core/comeback.h). True: it comes again when the
 * record says so, or is told BACK_UNREAD. `*marked`: it was done before. */
bool handle_collect_first(struct mcp_server *server, struct comer *comer,
                          const struct call_record *record, bool *marked);

/* Reads one by its key, or all that begin with this. `found` is called once, with at most
 * HANDLES_FOUND_MAX of them, and with NOD_E_STORE when the server is gone. */
typedef void handles_found(void *data, nod_status status, const struct handle *handles,
                           size_t count);
void handles_find(struct mcp_server *server, struct str prefix, handles_found *found, void *data);

#endif
