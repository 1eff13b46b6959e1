/*
 * core/store: the contract of the three stores.
 *
 * Every operation completes later, through done(), exactly once, on the loop thread, and never from
 * inside the call that began it. Nothing blocks the loop. Arguments are copied before the call
 * returns. What done() is given is valid during done().
 *
 * An operation is one transition: it happens whole or not at all. Each carries a token. An
 * operation that is sent again with the same token (because its reply was lost) recognises itself:
 * it gives the same answer again, and does not happen twice.
 *
 * A running call has an epoch. open gives 1, every take the next. park, append and finish from an
 * older epoch are refused with NOD_E_STALE and change nothing.
 *
 *     open ─▶ running ──park──▶ waiting ──last claim──▶ runnable ──take──▶ running ...
 *                │ └─append─┐                                               │
 *                │◀─────────┘                                               finish ─▶ finished
 *     any but finished ──cancel──▶ cancelled
 *
 * A park without asks, of a call that has none pending, makes the call runnable: any node may take
 * it.
 *
 * A call that waits belongs to its holder, whose epoch it waits in: in that epoch it may be parked
 * with further asks, be appended to, and be finished, which withdraws what waits; and one of its
 * asks may be taken back (a claim with claim_spec.epoch, ASK_WITHDRAWN). None of it changes the
 * epoch, and the call waits on while an ask is pending. A call that is runnable has no holder.
 *
 * A running call whose node is gone is taken only by whoever says what is to be made of that
 * (enum take_why): a plain take of it is refused, and store_reply.suspect says why. With
 * TAKE_SUSPECT the death is counted (call_record.deaths), and the new run is on probation. With
 * TAKE_FORGIVEN nothing is counted, and what was counted stays. A park or append that commits
 * anything, an entry or a question, clears all of it. A call that is given back while its run is on
 * probation is taken in the same two ways only.
 *
 * An ask leaves pending exactly once: by claim, or because its call ended (withdrawn). A claim does
 * everything in one transition: the ask ends, the journal is longer, and if it was the call's last
 * pending ask, the call is runnable. The store's clock decides expiry: a person's claim at or after
 * expires_ms becomes an expiry, and the clock's claim before it is refused.
 *
 * Removal. A call that has ended is kept until keep_until_ms, and for at least the store's own time
 * (--keep) after its end. Nothing else is removed by age, with one exception: a call that could be
 * run (runnable, or running on a node that is gone) and that nobody came for in STORE_ABANDONED_MS
 * is removed. Time in which no node was there to run it does not count. A waiting call whose asks
 * have all run out is first made runnable, by their expiry. A store of one process, in which nobody
 * looks for such calls, removes the call when what could have brought it back is over.
 *
 * Bounds. A store's options bound how many questions wait, in all and for one principal. A park
 * that would exceed either bound is refused with NOD_E_LIMIT and changes nothing (reply.quota says
 * which). A question counts from its park, on any node, until it ends or runs out. A question that
 * comes back with its call (expires_ms given) is never refused.
 *
 * Bytes. Everything that is kept for a principal counts against it, in bytes: the arguments,
 * journals, questions, answers and results of its calls, its small records, and a little for each
 * record. A store's options bound the bytes of one principal and of all. An operation that opens a
 * call, or asks something new, and would exceed either bound is refused as above. Nothing else is
 * refused for want of bytes: what was let in may go on and end, and its entries and its result
 * count past the bound.
 *
 * To make room, the contents of ended calls go whose results were handed out (finish_spec.fetched,
 * fetched), the oldest end first, of the principal itself, or of all if the bound in all is met. A
 * refused operation makes no room. Of such a call it stays known that it has ended
 * (call_record.forgotten) until keep_until_ms. A result that nobody has fetched stays for its time.
 *
 * A store has an id, which all nodes that share it see. It is made once: with the process (memory),
 * the file (SQLite) or the prefix (Redis). `now` is the wall clock that decides, as far as this
 * node knows without asking.
 *
 * ready says at once whether the store works, as far as it knows. If not, `why` is a short text
 * that holds nothing secret.
 *
 * Statuses:
 * - NOD_OK, NOD_E_STALE, NOD_E_NOT_FOUND, NOD_E_LIMIT.
 * - NOD_E_STORE: the store is away, or failed. The operation may or may not have happened; send it
 *   again with the same token to find out. Also a record that is sealed with a secret which this
 *   node does not have (store_reply.lacks): nothing happened but what the operation says of it, and
 *   another node, or this one with that secret, can read it.
 * - NOD_E_REFUSED, NOD_E_PARSE: a record was tampered with, is damaged, or was written by a newer
 *   nod. It was logged, and nothing happened. A scan leaves such records out, does not count them
 *   towards its limit and logs each of them once. Only STORE_ASKS_OF_CALL ends with that status: a
 *   call cannot go on without its asks.
 * - NOD_E_USAGE: the operation makes no sense (a claim of nothing, of an ask twice, or of asks of
 *   several calls).
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

#define STORE_NEW UINT64_MAX /* as the version in put: only if there is no record */
/* As the version in put: 0, but a record that is not there yet is refused for want of bytes. */
#define STORE_IF_ROOM (UINT64_MAX - 1)

#define STORE_AWAY "The store cannot be reached" /* how a sentence for people begins then */

enum take_why {
    TAKE_PLAIN,    /* of a call that is runnable */
    TAKE_FORGIVEN, /* its node was told to stop */
    TAKE_SUSPECT,  /* its node has died */
};

enum store_quota {
    STORE_QUOTA_NONE,
    STORE_QUOTA_ALL, /* questions that wait */
    STORE_QUOTA_PRINCIPAL,
    STORE_QUOTA_BYTES_ALL, /* bytes of what is kept */
    STORE_QUOTA_BYTES_PRINCIPAL,
} __attribute__((packed));

static inline bool store_quota_is_bytes(enum store_quota quota)
{
    return quota == STORE_QUOTA_BYTES_ALL || quota == STORE_QUOTA_BYTES_PRINCIPAL;
}

struct store_held {             /* what a store holds, as far as this node knows */
    uint64_t bytes, bytes_most; /* of everybody; most 0: no bound */
    uint64_t each_most;         /* the bound of one principal; 0: none */
    uint64_t refused;           /* operations of this node, refused for want of bytes */
    uint64_t dropped;           /* contents of ended calls that this node dropped to make room */
};

struct claimed { /* the result of one item of a claim */
    /* The ask as it is now, whoever won. If the item was refused it is still pending. */
    const struct ask_record *ask;
    bool won; /* this very claim ended the ask, put it up again, or brought its turn forward */
};

struct store_reply {
    uint64_t epoch;                 /* take, and a claim that took */
    const struct call_record *call; /* take, load_call, a claim that took */
    const struct ask_record *ask;   /* load_ask; claim: the ask of its first item */
    bool won;                       /* claim: its first item */
    const struct claimed *claimed;  /* claim: all of its items, in their order */
    size_t claimed_count; /* 0: nothing is known of them (not found, or the store failed) */
    bool taken;           /* claim: the call became runnable, and runs here now */
    bool lacks;   /* with NOD_E_STORE: a record is sealed with a secret that this node lacks */
    bool suspect; /* take, refused with NOD_E_STALE: it has to be taken in another way */
    /* park, append, put refused with NOD_E_LIMIT: the bound that would be exceeded; NONE: it was
     * too large */
    enum store_quota quota;
    uint64_t quota_most; /* how many that bound allows; or how many bytes */
    int64_t now_ms;      /* the store's wall clock */
    uint64_t version;    /* get, put */
    struct str value;    /* get */
    /* scan by page, list: where the next page begins; empty: this was the last */
    struct str cursor;
};

typedef void store_done(void *data, nod_status status, const struct store_reply *reply);

/*
 * `open` (may be NULL) is the call's record, if it is not stored yet: the call is then opened in
 * the same transition, running in epoch 1 on `node`. If the call is stored already, the park is
 * refused with NOD_E_STALE. One exception: the stored call waits, with a shorter journal than the
 * given one. Then the call has gone on where this store is not shared, and the stored one is
 * replaced with its asks. A refused park changes nothing.
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
    /* keep_until_ms becomes at least the store's now plus this; 0: no change */
    int64_t keep_for_ms;
    bool handed; /* sets call_record.handed; once true it stays true */
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
    /* The run is no longer on probation. Nothing else happens: all but call_id and epoch is
     * ignored, the token too, so this may overtake another operation of the call. */
    bool clears;
};

struct take_spec {
    struct str token;
    struct str call_id;
    struct str node;
    enum take_why why;
};

struct claim_item {
    struct str ask_id;
    enum ask_state outcome; /* of an ask that ends: not ASK_PENDING; ASK_WITHDRAWN only with
                               claim_spec.epoch: its holder takes the question back */
    struct str content;     /* JSON, with ASK_ACCEPTED (and ASK_INVALID: the problems) */
    struct str note;        /* ask_record.note; two answers that differ in it alone are the same */
    int attempt;            /* the offer it answers; 0: whichever is up */
    /* The ask does not end: its attempt, which must be named, goes up by one. Nodes that wait for
     * the call are hinted. `outcome` and `content` are ignored. */
    bool again;
    /* Not 0: the ask does not end. It has come to this turn of its plan before its time
     * (ask_record.turn, listed); a turn that it is past already changes nothing. Whoever watches
     * the asks is hinted. All but ask_id is ignored. */
    unsigned turn;
    bool listed;
};

/*
 * Answers to several asks of one call, in one transition. For each item: an ask that has ended
 * stays as it is; a pending one is ended, put up again, or comes to a later turn. An item is
 * refused, and its ask stays pending, if it names another offer than the one that is up, or if it
 * is the clock's and the time is not up. The other items are not affected.
 *
 * `whole`: the items are one submission. If one of the asks was ended before, through the same
 * `via`, by another answer (another outcome, content or principal), nothing is claimed: two
 * submissions never mix.
 *
 * NOD_E_STALE: nothing was claimed, because of `whole` or because items were refused. The reply
 * shows the asks as they are. NOD_OK otherwise, also if all asks had ended before.
 */
struct claim_spec {
    struct str token;
    const struct claim_item *items;
    size_t count;
    struct str by;
    struct str via; /* at most STORE_VIA_MAX bytes of a-z, 0-9, - and _ */
    /* a node: takes the call in the same transition, if this makes it runnable */
    struct str take_for;
    bool handed; /* as in park_spec; counts only if an item is won */
    bool whole;
    uint64_t epoch; /* not 0: items whose call is in another epoch are refused */
};

struct finish_spec {
    struct str token;
    struct str call_id;
    uint64_t epoch;
    struct str result;
    int64_t keep_for_ms; /* as in park_spec */
    bool handed;
    bool fetched; /* whoever waits for the result is there, and is given it once it is stored */
};

/*
 * STORE_ASKS_PENDING lists asks that wait and have not run out, in the order in which they were
 * asked; those of the same millisecond in the order of their ids or of their parks, which for the
 * asks of a round is the same (call_asks.c). STORE_ASKS_ENDED lists asks that have ended, the
 * latest end first, while their records are kept (a store may stop listing an ask when its own
 * time, keep_ms, has passed since the ask ended). `key` is a principal; without it the asks of all
 * principals are listed.
 *
 * Both come by page. `cursor` is what the reply of the last page said; only that store understands
 * it, and an unknown one is refused with NOD_E_USAGE. An ask that is listed the whole time is shown
 * exactly once, whatever comes and goes meanwhile. A page may have fewer rows than the limit, or
 * none, and not be the last: only the cursor tells.
 *
 * STORE_ASKS_OF_CALL lists the latest asks of a call, those that have ended too, in the order in
 * which they were asked. If their records are very large there may be fewer than the limit, but
 * never fewer than STORE_CLAIM_MOST. From the oldest ask of a call that waits on, a call has at
 * most STORE_CLAIM_MOST asks (a round has no more, nor has a live run: live.c), so all that wait
 * are always listed, however many came before them.
 *
 * STORE_CALLS lists every call, ended or not, in no particular order, by page: for operators. A
 * call that is stored during the whole walk is shown at least once. A row has the id, kind,
 * principal, target, state, node, deaths and time of its call, and what else store_row says; the
 * rest of the record is empty. A call whose record does not open is shown, too, without principal
 * and target.
 *
 * STORE_RUNNABLE lists calls that can be taken and are handed (call_record.handed): their clients
 * can come back for them, so any node runs them on. All other calls are adopted only when a client
 * comes back with the handle. They come by page, as asks do, in no particular order.
 */
enum store_index {
    STORE_RUNNABLE,
    STORE_ASKS_DUE,
    STORE_ASKS_OF_CALL,
    STORE_ASKS_PENDING,
    STORE_ASKS_ENDED,
    STORE_CALLS,
};

struct store_scan {
    enum store_index index;
    struct str key; /* call id; STORE_ASKS_PENDING, STORE_ASKS_ENDED: principal, or empty */
    struct str cursor;
    int64_t before; /* STORE_ASKS_DUE: expires_ms before this; 0: the store's now */
    size_t limit;   /* 0: as many as the store gives at once; there may be fewer rows */
};

struct store_value { /* a small record */
    struct str key;
    struct str value;
    uint64_t version;
};

struct store_row {
    const struct call_record *call; /* may lack its journal: take or load the call to get it */
    const struct ask_record *ask;
    const struct store_value *value;
    /* STORE_CALLS: */
    size_t pending; /* questions that wait */
    bool closed;    /* its record does not open */
};

/* Small records of one kind whose keys begin with `prefix`, in the byte order of their keys, by
 * page. */
struct store_list {
    struct str kind;
    struct str prefix; /* may be empty */
    struct str cursor; /* as in store_scan */
    size_t limit;
};

/* An ask has come up, or has ended. Only a hint: it may come twice, and the record is the truth. */
struct ask_hint {
    struct str ask_id;
    struct str call_id;
    uint64_t owner; /* store_owner of its principal */
    bool ended;
};

/* The deaths of a call as one number, which stores keep; 0: none. */
uint64_t deaths_pack(const struct deaths *deaths);
struct deaths deaths_unpack(uint64_t packed);
/* Those of a call that is taken in this way: a death is counted here, and for Redis in take.lua.
 * `gone`: from a node that is gone. What follows from the counts: suspect.c. */
struct deaths deaths_taken(struct deaths deaths, enum take_why why, bool gone, int64_t now_ms);

/* A number that stands for a principal and does not reveal its name. */
uint64_t store_owner(struct str principal);

typedef void store_row_fn(void *data, const struct store_row *row); /* before done(), on the loop */

struct store_ops {
    const char *name; /* "memory", "sqlite", "redis" */
    bool shared;      /* other nodes may see it */
    bool durable;     /* survives the process */
    size_t at_once;   /* to send it more operations than so many is of no use; 0: it can take all */

    void (*park)(struct store *store, const struct park_spec *park, store_done *done, void *data);
    void (*append)(struct store *store, const struct append_spec *append, store_done *done,
                   void *data);
    void (*claim)(struct store *store, const struct claim_spec *claim, store_done *done,
                  void *data);
    void (*take)(struct store *store, const struct take_spec *take, store_done *done, void *data);
    void (*finish)(struct store *store, const struct finish_spec *finish, store_done *done,
                   void *data);
    /* NOD_E_STALE if the call has finished. `why` is kept as its result. */
    void (*cancel)(struct store *store, struct str token, struct str call_id, struct str why,
                   store_done *done, void *data);
    /* The result of this ended call was handed out: its content may go to make room. Only a hint:
     * if it is lost, the result stays for its time. NOD_E_STALE: it was known. `done` may be NULL.
     */
    void (*fetched)(struct store *store, struct str call_id, store_done *done, void *data);
    /* The bound in bytes, if any, at which this principal is already, with nothing to make room
     * with; *most: how many bytes it allows. Only as far as this node knows at once. NULL: it does
     * not know, and the transition tells. */
    enum store_quota (*full)(struct store *store, struct str principal, uint64_t *most);
    /* For figures. */
    void (*held)(struct store *store, struct store_held *held);
    void (*load_call)(struct store *store, struct str call_id, store_done *done, void *data);
    /* True: there is no such call, and none that is forgotten: load_call would find nothing. NULL:
     * only load_call can tell. */
    bool (*lacks_call)(const struct store *store, struct str call_id);
    /* As load_call. If the call waits, its asks are given as rows, at most so many. NULL: one
     * operation would save nothing, and the two are done one after the other. */
    void (*load_with_asks)(struct store *store, struct str call_id, size_t most, store_row_fn *row,
                           store_done *done, void *data);
    void (*load_ask)(struct store *store, struct str ask_id, store_done *done, void *data);
    void (*scan)(struct store *store, const struct store_scan *scan, store_row_fn *row,
                 store_done *done, void *data);

    /*
     * Small records by kind and key. `version` of a put: 0 creates or replaces, STORE_NEW creates,
     * any other replaces only that version (otherwise NOD_E_STALE).
     *
     * A record counts against the principal `whose`, in bytes, as a call does. Without one a record
     * that is there stays whose it was, and a new one is nobody's. A put is refused for want of
     * bytes (NOD_E_LIMIT, and reply.quota) only with STORE_IF_ROOM.
     */
    void (*put)(struct store *store, struct str kind, struct str key, struct str value,
                struct str whose, uint64_t version, int64_t ttl_ms, store_done *done, void *data);
    void (*get)(struct store *store, struct str kind, struct str key, store_done *done, void *data);
    void (*del)(struct store *store, struct str kind, struct str key, store_done *done, void *data);
    void (*list)(struct store *store, const struct store_list *list, store_row_fn *row,
                 store_done *done, void *data);

    /*
     * This node is alive. It counts as gone when it has not said so for ttl_ms. A running call
     * whose node is gone can be run: STORE_RUNNABLE lists it, and take gives it the next epoch, in
     * one of the two ways for such calls.
     */
    void (*beat)(struct store *store, struct str node, int64_t ttl_ms, store_done *done,
                 void *data);

    /* wake(call id): a call that this node waits for became runnable, asked again or ended
     * elsewhere, or one of its questions was put again. Of the nodes that wait for a call, the last
     * two are told. Only a hint. wake(nothing): hints may have been lost, so every
     * waiting call is worth a look. */
    void (*watch)(struct store *store, struct str node,
                  void (*wake)(void *data, struct str call_id), void *data);

    /* told(hint): an ask came up or ended, on any node. told(NULL): hints may have been lost, or
     * the watch has just begun, so everything that is shown is worth a look. `told` NULL ends the
     * watch. */
    void (*watch_asks)(struct store *store, void (*told)(void *data, const struct ask_hint *hint),
                       void *data);

    /*
     * announce sends `text` to every node that shares the store, this one too, where told() is
     * called. The text may be lost. Both are NULL if no other process shares the store. `told` NULL
     * ends the listening.
     */
    void (*announce)(struct store *store, struct str text);
    void (*watch_announced)(struct store *store, void (*told)(void *data, struct str text),
                            void *data);

    /* Can the store be reached now? If not, *why says why not, until the loop turns. NULL:
     * always. */
    bool (*ready)(struct store *store, struct str *why);

    /* Does this node have the secrets of what the store holds? If not, it should get no requests,
     * although the store works: *why says which secret, until the loop turns. NULL: always. */
    bool (*opens)(struct store *store, struct str *why);

    /* The store's wall clock in ms, as far as this node knows, at once. */
    int64_t (*now)(struct store *store);

    /* Operations that are under way have no completion after this: whoever began one ends it. */
    void (*destroy)(struct store *store);
};

struct store {
    const struct store_ops *ops;
    struct str id;   /* which store this is; valid as long as the store */
    int64_t keep_ms; /* how long a call that has ended is kept, by the store's options */
};

/* A store that never replies: what an engine has while it is taken apart (store_gone.c). */
struct store *store_gone(void);

#endif
