/*
 * store/mark: which secret a store is sealed with.
 *
 * A store that outlives its servers keeps a mark: a text, sealed with the secret of the first
 * server that had one, which says nothing else. A server that cannot open the mark does not start:
 * otherwise it would find nothing of what is stored, and nobody would notice. Any secret of a
 * server's list will do, so secrets can be replaced one server after the other. Only a reseal of
 * all records renews the mark. A store without a mark is new, or was written without a secret or by
 * a nod that knew no marks: then some of its records are looked at instead.
 *
 * While a server runs it may meet records of a secret that it does not have: another server seals
 * with it. Then this server is not fit for requests, says so once, and looks again now and then.
 */
#ifndef NOD_STORE_MARK_H
#define NOD_STORE_MARK_H

#include "store/record_codec.h"

enum {
    MARK_TEXT_MAX = 128, /* bytes of a mark */
    MARK_WHY_MAX = 512,  /* bytes of a message */
    MARK_LOOKS = 1000,   /* records of each kind that are looked at in a store without a mark */
};

/* What is asked of the secrets of whoever opens a store. */
enum mark_rule {
    MARK_CHECKED, /* a server: they open the mark, and what was there before it */
    MARK_RESEALS, /* they open the mark, if there is one; records may be plain */
    MARK_IGNORED, /* whoever only looks at what is not sealed */
};

/* A new mark, sealed with the newest secret. */
struct str mark_make(struct keyring *ring, struct arena *arena);
/* False: `why` says which secret the mark is of, and which are there. `ring` may be NULL. */
bool mark_opens(struct keyring *ring, struct str mark, char why[MARK_WHY_MAX]);

/* What the records of a store show. */
struct mark_look {
    size_t plain; /* calls that have not ended, written without a secret */
    struct foreign_record foreign;
};

/* Looks at one more record, of a call that has not ended, an ask or a small record. */
void mark_saw(struct mark_look *look, const struct keyring *ring, enum codec_kind kind,
              struct str id, struct str scope, struct str record);
/* May a server with this ring begin on such a store, which has no mark? */
bool mark_allows(const struct mark_look *look, const struct keyring *ring, char why[MARK_WHY_MAX]);

/* A record was met whose secret this server does not have: for /readyz, and for the log. */
void mark_foreign_why(const char *key, char why[MARK_WHY_MAX]);
void mark_foreign_log(const char *store, const char *key, const struct keyring *ring);
/* Reads that record again. NOD_OK and NOD_E_NOT_FOUND: it is no longer foreign. False: it cannot be
 * looked for, and done() is not called. */
bool mark_foreign_look(struct store *store, const struct foreign_record *record, store_done *done,
                       void *data);

#endif
