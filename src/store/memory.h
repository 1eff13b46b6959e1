/*
 * store/memory: the store of one process, in its memory.
 *
 * It is the library's default. It keeps the contract of core/store.h, but nothing outlives the
 * process. In tests its completions can be delayed, reordered and made to fail, before or after the
 * operation has happened.
 */
#ifndef NOD_STORE_MEMORY_H
#define NOD_STORE_MEMORY_H

#include "base/clock.h"
#include "core/store.h"

enum memory_fault { MEMORY_FINE, MEMORY_FAIL_BEFORE, MEMORY_FAIL_AFTER };

struct memory_opts {
    const struct clock *clock;
    void (*defer)(void *ctx, void (*fn)(void *data), void *data); /* delivers completions */
    void *defer_ctx;
    enum memory_fault (*fault)(void *ctx, const char *verb); /* tests; NULL: never */
    void *fault_ctx;
    bool looked_after; /* tests: nodes look for calls that could be run, as with other stores */
    /* how long ended calls are kept, for clients that come late; 0: MEMORY_KEEP_MS */
    int64_t keep_ms;
    int64_t abandoned_ms;              /* 0: STORE_ABANDONED_MS */
    size_t keep_most;                  /* at most so many of them; 0: MEMORY_KEEP_MOST */
    size_t pending_asks;               /* questions that may wait, in all; 0: no bound */
    size_t pending_asks_per_principal; /* the same for one principal */
    uint64_t kept_bytes;               /* bytes of what is kept, in all; 0: no bound */
    uint64_t kept_bytes_per_principal; /* the same for one principal */
};

enum {
    MEMORY_KEEP_MS = 600000, /* how long an ended call is kept, for clients that come late */
    MEMORY_KEEP_MOST = 4096, /* ended calls that are kept; the oldest of who has most go first */
};

struct store *memory_store_create(const struct memory_opts *opts);

/*
 * For tests: the user of the store is gone, and another comes. Completions for the first are
 * dropped, and its running calls can be taken, as with a file that is opened again.
 */
void memory_store_orphan(struct store *store);

/* For tests: this call, if it runs, does so on a node that is gone, by the name "gone"; or no
 * longer does. */
void memory_store_lose(struct store *store, struct str call_id, bool gone);

#endif
