/*
 * store/redis: the store that several nodes share.
 *
 * It keeps the contract of core/store.h in a Redis (7, or 6.2) that everybody reaches. A transition
 * is one Lua script there, decided by Redis's clock; records are of store/record_codec and sealed
 * when there is a keyring, so Redis sees ids, states and times, and no content.
 *
 *     redis://[user:password@]host[:port][/db][?option=value&...]
 *     rediss://...                                  the same over TLS
 *     redis+unix://[user:password@]/path[?db=n&...] over a Unix socket; unix:// is the same
 *
 *     prefix=nod:     before every key and channel
 *     db=0            the database
 *     strict=1        refuse a Redis whose settings cannot keep the promise
 *     timeout=5000    milliseconds for a command, waiting for a connection included
 *     ca=FILE         authorities of the server's certificate; the system's if not given
 *     cert=FILE       our certificate, for a server that asks for one; key=FILE its key
 *
 * Parts are percent-decoded. A password is never logged.
 */
#ifndef NOD_STORE_REDIS_H
#define NOD_STORE_REDIS_H

#include "core/store.h"
#include "store/reseal.h"

struct keyring;
struct loop;

enum {
    REDIS_KEEP_MS = 24 * 3600 * 1000, /* an ended call is kept for those who ask late */
    REDIS_TIMEOUT_MS = 5000,          /* for a command, waiting for a connection included */
    REDIS_WHY_MAX = 512,              /* bytes of a sentence */
};

struct redis_opts {
    const char *url;
    struct loop *loop;
    const struct keyring *ring;        /* copied; NULL: records are not sealed */
    bool strict;                       /* as ?strict=1 */
    int64_t keep_ms;                   /* of calls that have ended; 0: REDIS_KEEP_MS */
    int64_t abandoned_ms;              /* 0: STORE_ABANDONED_MS */
    size_t pending_asks;               /* questions that may wait, in all; 0: no bound */
    size_t pending_asks_per_principal; /* and for one principal */
};

/*
 * Connects, and turns the loop until that has worked out: to be called before the loop runs. NULL,
 * and a sentence in `why`, if it did not: nobody is there, the password is wrong, it is a replica,
 * or strict and its settings cannot keep the promise. Later it connects again by itself, as often
 * as it has to.
 */
struct store *redis_store_open(const struct redis_opts *opts, char why[REDIS_WHY_MAX]);

/*
 * Brings every record under the newest of the secrets, so that the older ones can be dropped. The
 * store may be in use by servers which seal with the newest already. It may be stopped at any
 * moment and run again. With `plain` records that were written without a secret are sealed too:
 * only for a Redis that nobody else could write to. To be called before the loop runs.
 *
 * False, and a sentence in `why`, when it cannot be used, or not to the end; what was done until
 * then is done. Records that the codec refuses are logged, counted, and left as they are.
 */
bool redis_store_reseal(const struct redis_opts *opts, bool plain, struct reseal_counts *counts,
                        char why[REDIS_WHY_MAX]);

/* The address as it may be shown: without a password. False, and a sentence, if it is none. */
bool redis_address_shown(const char *url, char shown[REDIS_WHY_MAX], char why[REDIS_WHY_MAX]);

/* For figures: commands sent, and pieces they were written in. */
struct redis_figures {
    uint64_t commands;
    uint64_t writes;
};
/* For tests: looks through the indexes of every shard, as is done of one every few seconds. */
void redis_store_sweep(struct store *store);

struct redis_figures redis_store_figures(const struct store *store);

#endif
