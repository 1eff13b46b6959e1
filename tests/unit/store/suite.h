/*
 * tests/unit/store/suite: one suite of behaviours that every store passes.
 *
 * A rig makes stores of one kind and drives them. The suite sees only struct store. Each test
 * begins with rig->begin (nothing stored) and one handle from rig->open.
 *
 * Time: rig->advance moves the store's clock on, by hand or by waiting. Tests that let time pass
 * use lifetimes of SUITE_SHORT_MS, and otherwise SUITE_LONG_MS.
 */
#ifndef NOD_TESTS_STORE_SUITE_H
#define NOD_TESTS_STORE_SUITE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"
#include "core/roles.h"
#include "core/store.h"
#include "../runner.h"

enum { SUITE_SHORT_MS = 200, SUITE_LONG_MS = 600000, SUITE_PATIENCE = PATIENCE_MS };

struct store_rig {
    const char *name;
    bool durable; /* what was stored is there when it is opened again */
    bool shared;  /* several handles may be open at once, and see each other */
    bool nodes;   /* a node that stops beating counts as gone */
    bool quotas;  /* it bounds how many questions wait */
    bool bytes;   /* it bounds how many bytes are kept */
    bool by_hand; /* its clock is moved, and not waited for */

    size_t pending_asks; /* set by a test: for the stores that are opened from then on */
    size_t pending_asks_per_principal;
    uint64_t kept_bytes, kept_bytes_per_principal;
    int64_t keep_ms; /* also: how long ends are kept; 0: as the store is set */

    void (*begin)(struct store_rig *rig);
    struct store *(*open)(struct store_rig *rig);
    void (*turn)(struct store_rig *rig); /* delivers what has arrived; may wait a little for it */
    void (*advance)(struct store_rig *rig, int64_t ms);
    void (*end)(struct store_rig *rig); /* after every handle was destroyed */
    /* The node of this running call is gone; NULL: it is when it has not beaten for its time. */
    void (*lose)(struct store_rig *rig, const struct id *call);
};

/* Runs every test of the suite against the rig; the number of failures. */
int store_suite(struct store_rig *rig);

/* Only the transitions and the claims: for one more way to reach a store that had the whole suite.
 */
int store_suite_first(struct store_rig *rig);

/* NOD_SOAK=1: everything in full, nothing drawn. */
bool suite_soak(void);

/* --- for the tests themselves --- */

extern struct store_rig *suite_rig;
extern struct store *suite_store; /* the handle under test */

/* A completion with a copy of what it was handed. */
struct got {
    int done; /* how often */
    nod_status status;
    struct store_reply reply; /* its call and ask are copies */
    struct arena arena;
    size_t rows;
    struct ask_record *asks; /* rows of a scan */
    struct call_record *calls;
};

struct got *got_new(void); /* freed when the test ends */
store_done got_done;
store_row_fn got_row;
/* Turns until it is done; exactly once. */
struct got *got_wait(struct got *got);

struct id suite_id(void);

/* Texts are literal; ids are struct id. Each waits, and gives what came. */
struct question {
    const char *key;
    const char *message;
    int64_t ttl_ms;
    bool sensitive;
    const char *remember; /* NULL: nothing */
    int64_t expires_ms;   /* 0: as the store says */
    int attempt;          /* 0: 1 */
    struct id id;         /* set when it is parked */
};

struct parking {
    struct id token; /* zero: a new one */
    struct id call;
    bool open;
    uint64_t epoch; /* 0: 1 */
    const struct entry *entries;
    size_t entry_count;
    struct question *questions;
    size_t count;
    const char *node;
    int64_t keep_for_ms;
    const char *principal; /* NULL: ada */
    struct str args;       /* JSON; empty: a few */
    const char *client;    /* JSON, or NULL */
    const char *meta;      /* likewise */
    bool unhanded;         /* not handed, though its record names a caller */
    bool alone;            /* not handed, and its record names no caller */
};

struct got *suite_park(const struct parking *parking);
struct got *suite_append(const struct parking *parking);
/* Opens a call that waits for one question. */
struct id suite_ask(struct question *question);

struct got *suite_claim(const struct id *ask, enum ask_state outcome, const char *content,
                        const char *by, const char *take_for);
struct got *suite_claim_token(const struct id *token, const struct id *ask, enum ask_state outcome,
                              const char *content, const char *by, const char *take_for);
/* Any claim; its token is the one given, or a new one. */
struct got *suite_claims_of(const struct id *token, const struct claim_spec *claim);
struct got *suite_take(const struct id *token, const struct id *call, const char *node);
struct got *suite_take_as(const struct id *token, const struct id *call, const char *node,
                          enum take_why why);
struct got *suite_clear(const struct id *call, uint64_t epoch);
struct got *suite_finish(const struct id *token, const struct id *call, uint64_t epoch,
                         const char *result);
/* A JSON text of this size, random, so that no store makes it small; freed by mem_free. */
char *suite_large(size_t len);
/* The result was handed out, or not. */
struct got *suite_finish_as(const struct id *call, uint64_t epoch, struct str result, bool fetched);
struct got *suite_finish_for(const struct id *call, uint64_t epoch, int64_t keep_for_ms);
struct got *suite_cancel(const struct id *token, const struct id *call, const char *why);
struct got *suite_load_call(const struct id *call);
struct got *suite_load_ask(const struct id *ask);
struct got *suite_scan(const struct store_scan *scan);
/* A small record of this principal. */
struct got *suite_put_of(const char *whose, const char *key, struct str value, uint64_t version,
                         int64_t ttl_ms);
struct got *suite_put(const char *kind, const char *key, struct str value, uint64_t version,
                      int64_t ttl_ms);
struct got *suite_get(const char *kind, const char *key);
struct got *suite_del(const char *kind, const char *key);
struct got *suite_beat(const char *node, int64_t ttl_ms);
void suite_reopen(void);

#define assert_str(s, text) assert_true(str_eq((s), str_of(text)))

extern const struct CMUnitTest suite_transitions[];
extern const size_t suite_transitions_count;
extern const struct CMUnitTest suite_holder[];
extern const size_t suite_holder_count;
extern const struct CMUnitTest suite_claims[];
extern const size_t suite_claims_count;
extern const struct CMUnitTest suite_keeping[];
extern const size_t suite_keeping_count;
extern const struct CMUnitTest suite_records[];
extern const size_t suite_records_count;
extern const struct CMUnitTest suite_listing[];
extern const size_t suite_listing_count;
extern const struct CMUnitTest suite_bytes[];
extern const size_t suite_bytes_count;
extern const struct CMUnitTest suite_quota[];
extern const size_t suite_quota_count;
int suite_setup(void **state);
int suite_teardown(void **state);

#endif
