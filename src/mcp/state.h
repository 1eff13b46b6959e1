/*
 * mcp/state: a waiting call in the hands of its client (requestState).
 *
 * What a call needs to go on is written in a compact form, sealed (crypto/seal) and given to the
 * client, who brings it back with its answers. It opens only for the principal, method, target,
 * version of the target, arguments and uri it was made for. Everything that comes in is
 * attacker-controlled: reading is strict and its cost is bounded by the length of the text.
 *
 * Pure functions: no clock, no store.
 */
#ifndef NOD_MCP_STATE_H
#define NOD_MCP_STATE_H

#include "base/buf.h"
#include "core/record.h"
#include "crypto/seal.h"

enum {
    STATE_TEXT_MAX = 16384,    /* characters of a requestState that is looked at */
    STATE_BYTES_MAX = 4 << 20, /* of one that is in the store */
    STATE_ENTRIES_MAX = 4096,
    STATE_ASKS_MAX = 4096,
    STATE_ARENA_MAX = 16 << 20, /* memory of an opened one */
};

struct state {
    struct str call_id;
    uint64_t round;     /* journal entries and asks so far */
    int64_t expires_ms; /* wall clock; later than its asks */
    uint32_t notices;   /* progress and log messages already sent */
    const struct entry *entries;
    size_t entry_count;
    const struct ask_record *asks; /* pending */
    size_t ask_count;
    struct str handle; /* instead of all but expires_ms: the state is in the store under this key */
};

/* What a state is bound to. */
struct state_bound {
    struct str principal;
    struct str method;
    struct str target;
    struct str version; /* digest of the target's descriptor */
    struct str args;    /* digest of the arguments */
    struct str uri;
};

enum { STATE_BOUND_PARTS = 6 };
void state_bound_parts(const struct state_bound *bound, struct str parts[STATE_BOUND_PARTS]);

/* The plain form. False past the buffer's limit. */
bool state_write(struct buf *out, const struct state *state);
/* The text points into `plain`. False for anything that state_write would not have written. */
bool state_read(struct str plain, struct arena *arena, struct state *out);

/* Adds the sealed text. */
nod_status state_seal(struct keyring *ring, const struct state_bound *bound, struct str plain,
                      struct buf *out);
/* NOD_OK, or NOD_E_REFUSED for whatever is wrong, expiry included. */
nod_status state_open(struct keyring *ring, const struct state_bound *bound, struct str text,
                      size_t text_max, int64_t now_ms, struct arena *arena, struct state *out);

/* The last part of state_open, for what is known to have been sealed: reads it, unless its time is
 * over. */
nod_status state_open_plain(struct str plain, int64_t now_ms, struct arena *arena,
                            struct state *out);

#endif
