/*
 * host/storage: where a server keeps its calls, by address.
 *
 *     memory:                            in this process, until it ends
 *     sqlite:PATH                        in a file, by one server at a time
 *     sqlite:PATH?synchronous=normal     faster; docs/stores.md says what that gives up
 *     redis://[USER:PASSWORD@]HOST[:PORT][/DB]   in a Redis that several servers share
 *     rediss://...                       the same over TLS
 *     redis+unix:///PATH                 the same over a Unix socket; store/redis.h has the options
 */
#ifndef NOD_HOST_STORAGE_H
#define NOD_HOST_STORAGE_H

#include "core/store.h"
#include "store/mark.h"

struct keyring;
struct loop;

struct storage_opts {
    const char *address; /* NULL: memory: */
    bool ephemeral;      /* this process may be stopped at any moment */
    struct loop *loop;
    const struct keyring *ring; /* copied; NULL: records are not sealed */
    int64_t keep_ms;            /* how long ended calls are kept; 0: the store's default */
    size_t pending_asks;        /* questions that may wait, in all; 0: no bound */
    size_t pending_asks_per_principal;
    uint64_t kept_bytes; /* of what is kept for calls, in all; 0: no bound */
    uint64_t kept_bytes_per_principal;
    enum mark_rule mark; /* which secrets may open it */
};

/* False, logged: there is no such kind of store. */
bool storage_is_known(const char *address);
/* Do several servers have such a store together? NULL: the usual one. */
bool storage_is_shared(const char *address);
/* Is what it keeps this process's alone, and gone with it? NULL: the usual one. */
bool storage_is_memory(const char *address);
/* Is it an address of a store that outlives a process? Otherwise that is logged. */
bool storage_stays(const char *address);
/* NULL, logged: it cannot be used. It never falls back to memory. */
struct store *storage_open(const struct storage_opts *opts);

/* The same for a command of an operator: only a store that is there and outlives a process. */
struct store *storage_visit(const struct storage_opts *opts, enum mark_rule mark);

/* Seals every record with the newest secret of the ring; with `plain` also those that are not
 * sealed. False, logged: it could not be done to the end. */
struct reseal_counts;
bool storage_reseal(const struct storage_opts *opts, bool plain, struct reseal_counts *counts);

#endif
