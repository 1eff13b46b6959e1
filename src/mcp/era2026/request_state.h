/*
 * mcp/era2026/request_state: a waiting call in the hands of its client (requestState).
 *
 * A compact text that leads back to a call is sealed (crypto/seal) and given to the client, which
 * brings it back with its answers. It opens only for the principal, method, target, arguments and
 * URI it was made for. The target is in the state, because a client may call a tool by the name
 * that it is shown: where the tool is gone, only the state knows its path. Everything that comes in
 * may be an attack: reading is strict, and its cost is bounded by the length of the text.
 *
 * A state names the store that knows its call. Then the store has everything else and decides: a
 * call that the store no longer knows is never made again from the state. A portable state names no
 * store. It is the call itself, with its journal: a node that has the key can go on with it, even
 * twice.
 *
 * Pure functions: no clock, no store.
 */
#ifndef NOD_MCP_ERA2026_REQUEST_STATE_H
#define NOD_MCP_ERA2026_REQUEST_STATE_H

#include "base/buf.h"
#include "core/record.h"
#include "crypto/seal.h"

enum {
    STATE_TEXT_MAX = 16 << 10,    /* characters of a requestState that is accepted */
    STATE_PORTABLE_MAX = 1 << 20, /* the same for a portable one */
    STATE_STORE_MAX = 64,         /* bytes of the id of a store */
    STATE_ENTRIES_MAX = 4096,     /* journal entries in a portable one */
    STATE_ASKS_MAX = 4096,        /* questions in a state that are looked at */
    STATE_ARENA_MAX = 16 << 20,   /* memory of an opened state */
    /* With the attempt of an ask: */
    STATE_PAGED = 1 << 30, /* the client was given a page since then */
    STATE_INNER = 1 << 29, /* it is of an inner call */
    STATE_MARKS = STATE_PAGED | STATE_INNER,
};

struct state {
    struct str target; /* its name: of a tool, the path */
    struct str store;  /* the store that knows the call; empty: the state is portable */
    unsigned char version[DIGEST_BYTES]; /* of its target: target_digest */
    struct str call_id;
    int64_t expires_ms; /* the store's wall clock; later than the expiry of its asks */
    /* Pending. Unless it is portable only id and attempt: which offer the client was shown, perhaps
     * with marks; 0: it was not shown the question itself. */
    const struct ask_record *asks;
    size_t ask_count;

    /* Only in a portable state. */
    uint32_t notices; /* progress and log messages already sent */
    const struct entry *entries;
    size_t entry_count;
    struct str meta; /* see call_record.meta */
};

/* What a state is bound to. */
struct state_bound {
    struct str principal;
    struct str method;
    struct str target;
    bool as_shown;   /* that may be the name by which clients are shown a tool (core/tool_name.h) */
    struct str args; /* digest of the arguments */
    struct str uri;
};

/* The plain form. False past the buffer's limit. */
bool state_write(struct buf *out, const struct state *state);
/* The texts point into `plain`. False: state_write would not have written this. */
bool state_read(struct str plain, struct arena *arena, struct state *out);

/* Appends the sealed text to `out`. */
nod_status state_seal(struct keyring *ring, const struct state_bound *bound, struct str plain,
                      struct buf *out);
/* NOD_OK, or NOD_E_REFUSED for anything that is wrong, expiry included. */
nod_status state_open(struct keyring *ring, const struct state_bound *bound, struct str text,
                      size_t text_max, int64_t now_ms, struct arena *arena, struct state *out);
/* Does it look like one that was sealed with a secret which is not in the ring? Anybody can make
 * such a text: that alone is no reason to believe it. */
bool state_is_foreign(const struct keyring *ring, struct str text);

#endif
