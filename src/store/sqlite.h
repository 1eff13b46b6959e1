/*
 * store/sqlite: the store of one server, in a file.
 *
 * It keeps the contract of core/store.h when the process ends and when the machine stops. One
 * process owns a file at a time. The loop never waits for the disk: a writer thread makes the
 * transitions, many in one commit if many are waiting, and a reader thread does everything that
 * only reads.
 *
 * With `synchronous` FULL (the default) a completion means that the transition is on the disk. With
 * NORMAL the file stays sound, but the newest transitions may be lost when the machine (not the
 * process) stops.
 */
#ifndef NOD_STORE_SQLITE_H
#define NOD_STORE_SQLITE_H

#include "base/clock.h"
#include "core/store.h"
#include "store/mark.h"
#include "store/reseal.h"

struct keyring;
struct loop;

enum sqlite_sync { LITE_SYNC_FULL, LITE_SYNC_NORMAL };

enum {
    LITE_KEEP_MS = 24 * 3600 * 1000, /* how long an ended call is kept */
    LITE_WHY_MAX = 512,              /* bytes of an error message */
};

struct sqlite_opts {
    const char *path;
    struct loop *loop;          /* where completions arrive */
    const struct clock *clock;  /* NULL: the system's */
    const struct keyring *ring; /* copied; NULL: records are not sealed */
    enum sqlite_sync synchronous;
    int64_t keep_ms;                   /* how long ended calls are kept; 0: LITE_KEEP_MS */
    int64_t abandoned_ms;              /* 0: STORE_ABANDONED_MS */
    size_t pending_asks;               /* questions that may wait, in all; 0: no bound */
    size_t pending_asks_per_principal; /* the same for one principal */
    uint64_t kept_bytes;               /* bytes of what is kept, in all; 0: no bound */
    uint64_t kept_bytes_per_principal; /* the same for one principal */
    enum mark_rule mark;               /* which secrets may open it: store/mark.h */
    const char *vfs;                   /* tests; NULL: SQLite's own */
};

/* Before the first store is opened, in a program that uses SQLite for nothing else: SQLite need not
 * count its memory, under one lock for all threads with every allocation. */
void sqlite_own_process(void);

/*
 * NULL, and a message in `why`: another process owns the file, it is something else, it was written
 * by a newer nod, it is sealed with a secret that is not set, or it cannot be read or written.
 */
struct store *sqlite_store_open(const struct sqlite_opts *opts, char why[LITE_WHY_MAX]);

/*
 * Seals every record of a file with the newest of the secrets, so that the older ones can be
 * dropped. A commit has a few hundred records: it may be stopped at any moment and run again. The
 * file must not be in use. With `plain`, records that were written without a secret are sealed too:
 * use that only for a file that nobody else could write to.
 *
 * False, and a message in `why`: the file cannot be used, or the disk fails; what was done stays
 * done. Records that the codec refuses are logged, counted, and left as they are.
 */
bool sqlite_store_reseal(const struct sqlite_opts *opts, bool plain, struct reseal_counts *counts,
                         char why[LITE_WHY_MAX]);

#endif
