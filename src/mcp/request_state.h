/*
 * mcp/request_state: a waiting call in the hands of its client (requestState).
 *
 * What leads back to a call is written in a compact form, sealed (crypto/seal) and given to the
 * client, who brings it back with its answers. It opens only for the principal, method, target,
 * arguments and uri it was made for. Everything that comes in is attacker-controlled: reading is
 * strict and its cost is bounded by the length of the text.
 *
 * A state belongs to the store that knows its call, and names it. Then the store has everything
 * else, and its word is the last: a call that it does not know any more is never made of the state.
 * A portable state names no store and is the call itself, journal and all: whoever has the key can
 * go on with it, also twice.
 *
 * Pure functions: no clock, no store.
 */
#ifndef NOD_MCP_REQUEST_STATE_H
#define NOD_MCP_REQUEST_STATE_H

#include "base/buf.h"
#include "core/record.h"
#include "crypto/seal.h"

enum {
    STATE_TEXT_MAX = 16 << 10,    /* characters of a requestState that is looked at */
    STATE_PORTABLE_MAX = 1 << 20, /* and of one that is the call itself */
    STATE_STORE_MAX = 64,         /* bytes of the id of a store */
    STATE_ENTRIES_MAX = 4096,     /* journal entries in a portable one */
    STATE_ASKS_MAX = 4096,        /* questions of a call that are looked at */
    STATE_ARENA_MAX = 16 << 20,   /* memory of an opened one */
};

struct state {
    struct str store;                    /* the one that knows the call; empty: it is portable */
    unsigned char version[DIGEST_BYTES]; /* of its target: see struct target */
    struct str call_id;
    int64_t expires_ms; /* the store's wall clock; later than its asks */
    /* Pending. Of one that belongs to a store the id and the attempt: which offer went out. */
    const struct ask_record *asks;
    size_t ask_count;

    /* Only of a portable one. */
    uint32_t notices; /* progress and log messages already sent */
    const struct entry *entries;
    size_t entry_count;
};

/* What a state is bound to. */
struct state_bound {
    struct str principal;
    struct str method;
    struct str target;
    struct str args; /* digest of the arguments */
    struct str uri;
};

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

#endif
