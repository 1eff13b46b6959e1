/*
 * core/store: the contract of the three stores.
 *
 * Every operation completes later, through done(), exactly once, on the loop thread, and never from
 * inside the call that began it. Nothing blocks the loop. What is handed in is copied before the
 * call returns; what done() is handed lives during done().
 *
 * An operation is one transition: it happens whole or not at all. Each carries a token; an
 * operation that is sent again with the token it had (because its reply was lost) recognises itself
 * and gives the same answer again, without happening twice.
 *
 * A running call has an epoch. open gives 1, every take the next; park, append and finish from an
 * older epoch are refused with NOD_E_STALE and change nothing.
 *
 *     open ─▶ running ──park──▶ waiting ──last claim──▶ runnable ──take──▶ running ...
 *                │ └─append─┐                                               │
 *                │◀─────────┘                                               finish ─▶ finished
 *     any but finished ──cancel──▶ cancelled
 *
 * A park without asks, of a call that has none pending, makes it runnable: whoever comes next may
 * take it.
 *
 * An ask leaves pending exactly once: by claim, or because its call ended (withdrawn). claim does
 * it all in one transition: ask ended, journal longer, and, when it was the call's last pending
 * ask, call runnable. Expiry is decided by the store's clock: a claim for a person at or after
 * expires_ms becomes an expiry, and a claim for the clock before it is refused.
 *
 * What is removed. A call that has ended goes no earlier than both keep_until_ms and the store's
 * own time for ends (--keep) after its end. Nothing else is ever removed by its age, but by one
 * rule: a call that could be run (runnable, or running on a node that is gone) and that nobody came
 * for in STORE_ABANDONED_MS is abandoned, and goes. Time in which no node was there to run it does
 * not count. A waiting call whose asks have all run out is first made runnable, by their expiry.
 *
 * A store bounds how many questions wait, in all and for one principal, as its options say: a park
 * that would go past either is refused with NOD_E_LIMIT and changes nothing (reply.quota says which
 * it was). A question counts from its park, on whatever node, until it ends or runs out. One that
 * comes back with its call (expires_ms given) is never refused.
 *
 * A store has an id, which is made once: with the process (memory), the file, or under the prefix,
 * and is the same for all nodes that share it. Its clock is `now`: the wall clock that decides, as
 * far as this node knows without asking.
 *
 * ready says, at once and without waiting, whether the store does its work as far as it knows; if
 * not, `why` is a short text that lives on and holds nothing secret.
 *
 * Statuses: NOD_OK; NOD_E_STALE; NOD_E_NOT_FOUND; NOD_E_LIMIT; NOD_E_STORE (away, or failed: the
 * operation may or may not have happened; send it again with the same token to find out);
 * NOD_E_REFUSED and NOD_E_PARSE (a record in the store was tampered with, is damaged, or was
 * written by a newer nod: it was logged, and nothing happened). A scan leaves such records out,
 * does not count them towards its limit and logs each of them once; but for STORE_ASKS_OF_CALL,
 * which ends with that status: the call cannot go on without its asks. NOD_E_USAGE: the operation
 * makes no sense (a claim of nothing, of an ask twice, or of asks of several calls).
 */
#ifndef NOD_CORE_STORE_H
#define NOD_CORE_STORE_H

#include "core/record.h"

struct store;

enum {
    STORE_CLAIM_MOST = 64,          /* asks of one claim */
    STORE_VIA_MAX = 32,             /* bytes of where an ask was answered */
    STORE_ABANDONED_MS = 604800000, /* a call that could be run and nobody came for: a week */
};

#define STORE_NEW UINT64_MAX /* put, as the version: only where there is none */

enum store_quota { STORE_QUOTA_NONE, STORE_QUOTA_ALL, STORE_QUOTA_PRINCIPAL };

struct claimed { /* what became of one item of a claim */
    /* As it is now, whoever won. Of an item that was refused it is still pending. */
    const struct ask_record *ask;
    bool won; /* this very claim ended the ask, or put it up again */
};

struct store_reply {
    uint64_t epoch;                 /* take, and a claim that took */
    const struct call_record *call; /* take, load_call, a claim that took */
    const struct ask_record *ask;   /* load_ask; claim: of its first item */
    bool won;                       /* claim: its first item */
    const struct claimed *claimed;  /* claim: each of its items, in their order */
    size_t claimed_count;           /* 0: nothing is known of them (not found, the store failed) */
    bool taken;                     /* claim: the call became runnable and is now running here */
    enum store_quota quota;         /* park refused with NOD_E_LIMIT: by the bound on all questions,
                                       or on those of one principal; NONE: it was too large */
    uint64_t quota_most;            /* and that bound */
    int64_t now_ms;                 /* the store's wall clock */
    uint64_t version;               /* get, put */
    struct str value;               /* get */
    struct str cursor;              /* scan by page, list: where the next page begins; empty: that
                                       was the last one */
};

typedef void store_done(void *data, nod_status status, const struct store_reply *reply);

/*
 * `open` (may be NULL) is the call's record when it is not stored yet: the call is then opened,
 * running in epoch 1, in the same transition. `node` owns it. One that is stored already is refused
 * with NOD_E_STALE, unless it waits with a shorter journal than the one given to park: then it has
 * gone on where this store is not shared, and is replaced, asks and all. A park that is refused has
 * changed nothing, also of the one that it would have replaced.
 */
struct park_spec {
    struct str token;
    const struct call_record *open;
    struct str node;
    struct str call_id;
    uint64_t epoch;
    uint32_t notices;
    const struct entry *entries;
    size_t entry_count;
    const struct ask_record *asks;
    size_t ask_count;
    int64_t keep_for_ms; /* keep_until_ms becomes at least the store's now and this; 0: nothing */
    bool handed;         /* call_record.handed from now on; once true it stays so */
};

struct append_spec {
    struct str token;
    const struct call_record *open;
    struct str node;
    struct str call_id;
    uint64_t epoch;
    uint32_t notices;
    const struct entry *entries;
    size_t entry_count;
    int64_t keep_for_ms; /* as in park_spec */
    bool handed;
};

struct claim_item {
    struct str ask_id;
    enum ask_state outcome; /* anything but ASK_PENDING and ASK_WITHDRAWN */
    struct str content;     /* JSON, with ASK_ACCEPTED (and ASK_INVALID: the problems) */
    int attempt;            /* the offer it answers; 0: whichever is up */
    /* The ask does not end: its attempt goes up by one, from the one named, which must be. Whoever
     * waits for the call elsewhere is hinted. `outcome` and `content` say nothing then. */
    bool again;
};

/*
 * Answers to several asks of one call, in one transition. Of each item: an ask that has ended keeps
 * its end; one that is pending is ended (or put up again), but that an item for another offer than
 * the one that is up is refused, and so is the clock before its time; it is still pending then. An
 * item that is refused does not hinder the others.
 *
 * `whole`: they are one submission. If one of the asks was ended before through the same `via` by
 * another answer (another outcome, content or principal), nothing is claimed at all: two
 * submissions never mix.
 *
 * NOD_E_STALE: nothing was claimed, because of `whole` or because items were refused; the reply
 * shows the asks as they are. NOD_OK otherwise, also where all of them had ended.
 */
struct claim_spec {
    struct str token;
    const struct claim_item *items;
    size_t count;
    struct str by;
    struct str via;      /* at most STORE_VIA_MAX bytes of a-z, 0-9, - and _ */
    struct str take_for; /* a node: take the call in the same transition, if this makes it runnable
                          */
    bool handed;         /* as in park_spec; only with an item that was won */
    bool whole;
};

struct finish_spec {
    struct str token;
    struct str call_id;
    uint64_t epoch;
    struct str result;
    int64_t keep_for_ms; /* as in park_spec */
    bool handed;
};

/*
 * STORE_ASKS_PENDING lists the asks that wait and have not run out, the one that was asked first
 * first; STORE_ASKS_ENDED those that have ended, the one that ended last first, for as long as its
 * record is kept (a store may stop listing it when its own time for ends, keep_ms, has passed since
 * the ask ended). Of one principal (`key`), or of all (no key).
 *
 * They come by page: `cursor` is what the reply of the page before said, and means something to
 * that store alone; one that no store has said is refused with NOD_E_USAGE. An ask that is listed
 * the whole time is shown exactly once, whatever comes and goes meanwhile. A page may have fewer
 * rows than the limit, even none, and there is another all the same: the cursor says so.
 *
 * STORE_RUNNABLE lists the calls that can be taken and are handed (call_record.handed): their
 * clients can come back for them, so they are run on. The others are adopted by whoever comes back
 * with the handle, and by nobody else. With a durable or shared store and more calls than `limit`,
 * each look shows different ones: calls that nobody takes must not hide the rest.
 */
enum store_index {
    STORE_RUNNABLE,
    STORE_ASKS_DUE,
    STORE_ASKS_OF_CALL,
    STORE_ASKS_PENDING,
    STORE_ASKS_ENDED,
};

struct store_scan {
    enum store_index index;
    struct str key; /* call id; STORE_ASKS_PENDING, STORE_ASKS_ENDED: principal, or empty */
    struct str cursor;
    int64_t before; /* STORE_ASKS_DUE: expires_ms before this; 0: the store's now */
    size_t
        limit; /* 0: as many as the store gives at once; there may be fewer rows than asked for */
};

struct store_value { /* a small record */
    struct str key;
    struct str value;
    uint64_t version;
};

struct store_row {
    const struct call_record *call; /* perhaps without its journal: take or load it */
    const struct ask_record *ask;
    const struct store_value *value;
};

/* Small records of one kind whose keys begin so, in the order of their keys' bytes, by page. */
struct store_list {
    struct str kind;
    struct str prefix; /* may be empty */
    struct str cursor; /* as in store_scan */
    size_t limit;
};

/* An ask has come up, or has ended. A hint: it may come twice, and the record is the truth. */
struct ask_hint {
    struct str ask_id;
    struct str call_id;
    uint64_t owner; /* store_owner of its principal */
    bool ended;
};

/* A principal as a number, which says nothing of its name. */
uint64_t store_owner(struct str principal);

typedef void store_row_fn(void *data, const struct store_row *row); /* before done(), on the loop */

struct store_ops {
    const char *name; /* "memory", "sqlite", "redis" */
    bool shared;      /* other nodes may see it */
    bool durable;     /* survives the process */

    void (*park)(struct store *store, const struct park_spec *park, store_done *done, void *data);
    void (*append)(struct store *store, const struct append_spec *append, store_done *done,
                   void *data);
    void (*claim)(struct store *store, const struct claim_spec *claim, store_done *done,
                  void *data);
    void (*take)(struct store *store, struct str token, struct str call_id, struct str node,
                 store_done *done, void *data);
    void (*finish)(struct store *store, const struct finish_spec *finish, store_done *done,
                   void *data);
    /* NOD_E_STALE if it has finished. `why` is kept as the result. */
    void (*cancel)(struct store *store, struct str token, struct str call_id, struct str why,
                   store_done *done, void *data);
    void (*load_call)(struct store *store, struct str call_id, store_done *done, void *data);
    /* As load_call, and if the call waits its asks are rows, at most so many. NULL: the store has
     * nothing to gain by it, and is asked for the two one after the other. */
    void (*load_with_asks)(struct store *store, struct str call_id, size_t most, store_row_fn *row,
                           store_done *done, void *data);
    void (*load_ask)(struct store *store, struct str ask_id, store_done *done, void *data);
    void (*scan)(struct store *store, const struct store_scan *scan, store_row_fn *row,
                 store_done *done, void *data);

    /* Small records by kind and key. version 0 with put: create or replace; STORE_NEW:
     * create; else only over that version (NOD_E_STALE). */
    void (*put)(struct store *store, struct str kind, struct str key, struct str value,
                uint64_t version, int64_t ttl_ms, store_done *done, void *data);
    void (*get)(struct store *store, struct str kind, struct str key, store_done *done, void *data);
    void (*del)(struct store *store, struct str kind, struct str key, store_done *done, void *data);
    void (*list)(struct store *store, const struct store_list *list, store_row_fn *row,
                 store_done *done, void *data);

    /*
     * This node is alive; it counts as gone when it has said nothing for ttl_ms. A running call
     * whose node is gone is runnable: STORE_RUNNABLE lists it, and take gives it the next epoch.
     */
    void (*beat)(struct store *store, struct str node, int64_t ttl_ms, store_done *done,
                 void *data);

    /* wake(call id) when a call that this node waits for became runnable or ended elsewhere, or a
     * question of it was put again. A hint only. wake(nothing) when hints may have been lost: all
     * that waits here is worth a look. */
    void (*watch)(struct store *store, struct str node,
                  void (*wake)(void *data, struct str call_id), void *data);

    /* told(hint) when an ask comes up or ends, on whatever node. told(NULL) when hints may have
     * been lost: all that is shown is worth a look; so also when watching has begun. `told` NULL:
     * nobody wants to know any more. */
    void (*watch_asks)(struct store *store, void (*told)(void *data, const struct ask_hint *hint),
                       void *data);

    /*
     * `text` to every node that shares the store, this one as well: told() there when it comes. A
     * hint that may be lost. Both are NULL where no other process shares it. `told` NULL: nobody
     * listens any more.
     */
    void (*announce)(struct store *store, struct str text);
    void (*watch_announced)(struct store *store, void (*told)(void *data, struct str text),
                            void *data);

    /* It can be reached now; false: *why says why not, until the loop turns. NULL: always. */
    bool (*ready)(struct store *store, struct str *why);

    /* The store's wall clock in ms, as far as this node knows, at once. */
    int64_t (*now)(struct store *store);

    void (*destroy)(struct store *store);
};

struct store {
    const struct store_ops *ops;
    struct str id;   /* which store this is; lives as long as it does */
    int64_t keep_ms; /* how long a call that has ended is kept, as the store is set */
};

#endif
