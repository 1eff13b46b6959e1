/*
 * core/secret: values that people give once, and that only handlers see.
 *
 * A secret belongs to a principal and has a name. A handler that needs it is given it (nod_secret);
 * if there is none, its person is asked on a page of this server, which stores it here. It is
 * reused, by every tool, until it is deleted or expires.
 *
 * It is a small record of the kind "secret", whose value is sealed before the store is handed it
 * (crypto/inner_seal.h), bound to its principal and name. The rest of the record (name, principal,
 * times) is what lists show.
 *
 * Without a secret of the operator's there is nothing to seal with that outlives the process: then
 * the records are in a store of their own, in memory, sealed under a key that was made at start
 * (struct secrets_opts). Who is asked for a secret is told so.
 *
 * Holds always:
 * - The value is in the clear only in the request that brings it, in hidden memory while a run uses
 *   it, and in the hands of the handler. Lists, logs, answers and journals never have it.
 * - What was stored for a question first stays: a second tab that sends another value for the same
 *   question changes nothing, and neither does a value for another question that was put before it:
 *   that one is answered with what is there.
 */
#ifndef NOD_CORE_SECRET_H
#define NOD_CORE_SECRET_H

#include "core/store.h"
#include "crypto/seal.h"

struct engine;

enum {
    SECRET_NAME_MAX = 64,     /* bytes of its name */
    SECRET_VALUE_MAX = 16384, /* and of its value */
    SECRET_OWNER_LEN = 24,    /* characters of an id that stand for the principal */
    SECRET_ID_MAX = SECRET_OWNER_LEN + 1 + SECRET_NAME_MAX, /* characters of an id */
    SECRET_PAGE_MAX = 200,                                  /* secrets on one page of a list */
};

#define SECRET_KIND   "secret" /* of the record, and the name of the source (core/need.h) */
#define SECRET_MS_MAX INT64_C(315360000000) /* the longest time it may be kept: ten years */

struct secrets_opts {
    struct store *store;  /* where they are kept; destroyed before the engine */
    struct keyring *ring; /* lent, for as long as the engine lives */
    bool last;            /* they outlive this process */
};
/* From now on handlers can use them. Before the first call, once. */
void engine_use_secrets(struct engine *engine, const struct secrets_opts *opts);
/* Do they outlive this process? */
bool engine_secrets_last(const struct engine *engine);

/* Letters, digits, and . _ - inside, at most SECRET_NAME_MAX. */
bool secret_name_ok(struct str name);

/* What is asked for, as the ask's record has it (ask_record.detail of PAGE_SECRET). */
struct secret_asked {
    struct str name;
    int64_t keep_ms; /* 0: until it is deleted */
};
struct str secret_asked_write(struct arena *arena, const struct secret_asked *asked);
bool secret_asked_read(struct arena *arena, struct str detail, struct secret_asked *out);

/* One that somebody has given. The value is sealed before this returns, and not kept. */
struct secret_given {
    struct str principal; /* whose it is */
    struct str name;
    struct str value;  /* 1 to SECRET_VALUE_MAX bytes */
    struct str ask_id; /* the question that it answers */
    struct str tool;   /* whose question that is */
    int64_t keep_ms;   /* 0: until it is deleted */
};
/* NOD_OK: it is stored. NOD_E_STALE: another value has been stored since the question was put, and
 * stays. NOD_E_LIMIT, NOD_E_USAGE: its value or name cannot be. NOD_E_STORE. */
void secret_give(struct engine *engine, const struct secret_given *given,
                 void (*done)(void *data, nod_status status), void *data);

/* The question was not answered with it after all: what was stored for it is deleted again. */
void secret_take_back(struct engine *engine, struct str principal, struct str name,
                      struct str ask_id);

/* As lists show it. */
struct secret_row {
    struct str id;
    struct str principal, name;
    struct str tool;         /* that asked for it, the last time that it was given; may be empty */
    int64_t at_ms, until_ms; /* when it was given, and when it expires; until_ms 0: never */
};
typedef void secret_row_fn(void *data, const struct secret_row *row);
/* Of this principal, or of all (empty), in the order of their ids, by page: `cursor` is what the
 * last page said. NOD_E_USAGE: the cursor is not one of this list. */
void secrets_list(struct engine *engine, struct str principal, struct str cursor, size_t limit,
                  secret_row_fn *row,
                  void (*done)(void *data, nod_status status, struct str cursor), void *data);
/* The id of the secret that somebody calls so: an id, or the name of one of their own. */
struct str secret_id(struct arena *arena, struct str principal, struct str called);
/* NOD_E_NOT_FOUND: there is none, or it is not this principal's (empty: anyone's). */
void secret_delete(struct engine *engine, struct str id, struct str principal,
                   void (*done)(void *data, nod_status status), void *data);

#endif
