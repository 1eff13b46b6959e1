/*
 * store/redis: the store that several nodes share.
 *
 * It keeps the contract of core/store.h in a Redis (7, or 6.2) that all nodes reach. A transition
 * is one Lua script in Redis, decided by Redis's clock. Records are those of store/record_codec,
 * sealed if there is a keyring: then Redis sees ids, states and times, and no content.
 *
 *     redis://[user:password@]host[:port][/db][?option=value&...]
 *     rediss://...                                  the same over TLS
 *     redis+unix://[user:password@]/path[?db=n&...] over a Unix socket; unix:// is the same
 *
 *     prefix=nod:     before every key and channel
 *     db=0            the database
 *     strict=1        refuse a Redis whose settings cannot keep the promise
 *     timeout=5000    milliseconds for a command, waiting for a connection included
 *     ca=FILE         authorities for the server's certificate; default: the system's
 *     cert=FILE       our certificate, if the server asks for one; key=FILE its key
 *
 * Parts are percent-decoded. A password is never logged.
 */
#ifndef NOD_STORE_REDIS_H
#define NOD_STORE_REDIS_H

#include "core/store.h"
#include "store/mark.h"
#include "store/reseal.h"

struct keyring;
struct loop;

enum {
    REDIS_KEEP_MS = 24 * 3600 * 1000, /* how long an ended call is kept */
    REDIS_TIMEOUT_MS = 5000,          /* for a command, including the wait for a connection */
    REDIS_WHY_MAX = 512,              /* bytes of an error message */
};

struct redis_opts {
    const char *url;
    struct loop *loop;
    const struct keyring *ring;        /* copied; NULL: records are not sealed */
    bool strict;                       /* as ?strict=1 */
    int64_t keep_ms;                   /* how long ended calls are kept; 0: REDIS_KEEP_MS */
    int64_t abandoned_ms;              /* 0: STORE_ABANDONED_MS */
    size_t pending_asks;               /* questions that may wait, in all; 0: no bound */
    size_t pending_asks_per_principal; /* the same for one principal */
    uint64_t kept_bytes;               /* bytes of what is kept, in all; 0: no bound */
    uint64_t kept_bytes_per_principal; /* the same for one principal */
    enum mark_rule mark;               /* which secrets may open it: store/mark.h */
};

/*
 * Connects, and turns the loop until that has succeeded or failed. Call it before the loop runs.
 * NULL, and a message in `why`: nothing answers, the password is wrong, it is a replica, it is
 * sealed with a secret that is not set, or `strict` is set and its settings cannot keep the
 * promise. Later the store reconnects by itself, as often as needed.
 */
struct store *redis_store_open(const struct redis_opts *opts, char why[REDIS_WHY_MAX]);

/*
 * Seals every record with the newest of the secrets, so that the older ones can be dropped. The
 * store may be in use by servers that already seal with the newest. It may be stopped at any moment
 * and run again. With `plain`, records that were written without a secret are sealed too: use that
 * only for a Redis that nobody else could write to. Call it before the loop runs.
 *
 * False, and a message in `why`: it could not begin, or not go on to the end; what was done stays
 * done. Records that the codec refuses are logged, counted, and left as they are.
 */
bool redis_store_reseal(const struct redis_opts *opts, bool plain, struct reseal_counts *counts,
                        char why[REDIS_WHY_MAX]);

/* The address without its password. False, and a message: it is not an address. */
bool redis_address_shown(const char *url, char shown[REDIS_WHY_MAX], char why[REDIS_WHY_MAX]);

/* For tests: sweeps the indexes of every shard. Normally one shard is swept every few seconds. */
void redis_store_sweep(struct store *store);

#endif
