/*
 * store/memory: what its files share.
 *
 * memory.c          the transitions of calls
 * memory_claim.c    claims, and questions that run out
 * memory_reply.c    completions and hints
 * memory_record.c   the records of calls and asks, and how they are shown
 * memory_sweep.c    dropping records, a few at a time
 * memory_quota.c    how many questions wait and how many bytes are kept, and making room
 * memory_index.c    asks that wait or have ended, by page
 * memory_read.c     load and scan
 * memory_values.c   small records
 */
#ifndef NOD_STORE_MEMORY_INSIDE_H
#define NOD_STORE_MEMORY_INSIDE_H

#include "base/arena.h"
#include "base/heap.h"
#include "base/idmap.h"
#include "base/list.h"
#include "base/map.h"
#include "base/tree.h"
#include "core/record.h"
#include "store/cursor.h"
#include "store/kept.h"
#include "store/memory.h"

enum {
    MEMORY_HINTS_MAX = 1024,   /* hints of asks on their way; past that: look again */
    MEMORY_SWEEP_BEAT = 4096,  /* records of a kind that are dropped with one heartbeat */
    MEMORY_RAN_OUT_MS = 60000, /* for a process that was stopped while its questions ran out */
};

struct memory_store {
    struct store store; /* first */
    struct memory_opts opts;
    struct idmap calls; /* struct stored_call */
    struct idmap asks;  /* struct stored_ask */
    struct tree values; /* struct stored_value, by kind NUL key */
    size_t value_count;
    struct heap values_due;
    struct tree in_order; /* asks: see memory_index.c */
    struct heap ended;    /* ended calls, by when they are dropped */
    struct heap idle;     /* runnable calls, by when nothing is left that could bring them back */
    struct heap left;     /* those for which that time has come, by when they are abandoned */
    struct idmap spent;   /* struct spent */
    struct heap spent_due;
    struct id id;        /* of the store */
    struct heap due;     /* pending asks by expiry; these are counted */
    struct heap lapsed;  /* pending asks that ran out, by when nobody is expected to end them */
    struct map tallies;  /* principal -> struct tally */
    struct heap fetched; /* tallies with calls whose results were handed out, who has most first */
    uint64_t bytes;      /* of all records */
    uint64_t spare;      /* of these, what could go at once: see memory_quota.c */
    uint64_t refused, dropped; /* see struct store_held */
    struct list replies;       /* completions on their way */
    uint64_t version;
    /* until then no record is dropped (but to make room) and no question runs out */
    int64_t due_at;
    int64_t now_ms; /* the time of the operation under way: see memory_begin */
    void (*wake)(void *data, struct str call_id);
    void *wake_data;
    void (*told)(void *data, const struct ask_hint *hint); /* NULL: nobody watches the asks */
    void *told_data;
    struct told_ask *hints; /* hints of asks to be told; room for MEMORY_HINTS_MAX, or NULL */
    size_t hint_count;
    bool hints_lost; /* there were more */
    bool hinting;    /* their delivery is on its way */
};

struct told_ask {
    struct id ask, call;
    uint64_t owner;
    bool ended;
};

struct tally { /* of a principal */
    struct str name;
    size_t pending;        /* its asks in memory->due */
    size_t holders;        /* its calls, marks and small records, and operations under way */
    uint64_t bytes, spare; /* as in struct memory_store */
    struct list fetched;   /* struct call_end: those whose results were handed out, oldest first */
    int64_t fetched_count;
    struct heap_node most; /* in memory->fetched, by how many they are */
    struct tree in_order;  /* its asks, as in struct memory_store */
    uint64_t owner;        /* store_owner of it; 0: not needed yet */
    char text[];
};

struct piece { /* of the memory of a call: see memory_record.c */
    struct piece *next;
    char at[];
};

/* Millions of calls may wait, each with an ask, so the two are small: of their texts only the
 * lengths are members. */
struct stored_call {
    struct tally *tally;
    struct stored_ask *asks, *last_ask;
    struct piece *pieces;  /* all that belongs to it */
    struct entry *entries; /* its journal */
    uint32_t entry_count, entry_room;
    struct call_end *end; /* NULL: it has not ended */
    struct heap_node due; /* in memory->idle, left or ended */
    uint64_t epoch;
    uint64_t deaths; /* see deaths_pack */
    int64_t version; /* see call_record.version */
    int64_t opened_ms;
    int64_t keep_until; /* see call_record.keep_until_ms */
    int64_t idle_since; /* runnable since then */
    size_t bytes;       /* of all its memory; counted in the tally */
    uint32_t notices;
    uint32_t ask_count;
    uint32_t pending;
    uint32_t refs;       /* replies that show it, plus one while it can be found */
    unsigned char state; /* enum call_state */
    unsigned char kind;  /* enum target_kind */
    bool handed;
    bool gone;    /* it runs on a node that is gone: see memory_store_lose */
    bool left;    /* it is in memory->left */
    bool ran_out; /* its last question ran out, and nobody was there */
    struct id id;
    struct id token; /* of the newest operation */
    uint32_t scope_len, target_len, args_len, uri_len, caller_len, client_len, meta_len;
    char texts[]; /* in this order, each with a NUL */
};

struct call_end {
    struct stored_call *call;
    struct list of_tally; /* in its `fetched`; unlinked if the result was not */
    bool fetched;         /* its result was handed out */
    struct str result;
};

struct stored_ask {
    struct stored_call *call;
    struct stored_ask *next;           /* the next ask of its call */
    struct ask_end *end;               /* NULL: it is pending */
    struct heap_node due;              /* in memory->due, or in lapsed */
    struct tree_node in_all, of_owner; /* see memory_index.c, as for the next two */
    int64_t place;
    struct id id;
    int64_t ttl_ms;
    int64_t asked_ms;
    int64_t expires_ms;
    uint64_t seq;
    int attempts;
    int attempt;
    unsigned char digest[DIGEST_BYTES];
    unsigned char kind;     /* enum ask_kind */
    unsigned char page;     /* enum ask_page */
    unsigned char listed;   /* enum ask_listed */
    unsigned char approver; /* role_set */
    unsigned char turn;
    bool consent;
    bool sensitive;
    bool wait_done : 1;
    bool inner : 1;
    bool lapsed;     /* it is in memory->lapsed */
    struct id again; /* token of the claim that last put it up again */
    uint32_t key_len, message_len, detail_len, url_len, remember_len;
    char texts[]; /* in this order, each with a NUL */
};

struct ask_end {
    struct str by, via, note, content;
    uint64_t took; /* the epoch in which the claim took the call, or 0 */
    int64_t ended_ms;
    enum ask_state state;
    struct id token; /* of the claim that ended it; empty: it was withdrawn */
};

struct spent { /* an ended call whose record had to make room */
    struct id id;
    unsigned char state;  /* enum call_state */
    struct heap_node due; /* until then something could bring it back */
    struct tally *tally;
    int64_t opened_ms;
};

/* A mark counts these: itself, and its places in the map and the heap. */
enum { MEMORY_MARK_BYTES = sizeof(struct spent) + 64 };

struct stored_value {
    struct tree_node in_order;
    struct heap_node due; /* if it has an end */
    struct tally *tally;  /* whose it is; NULL: nobody's */
    int64_t bytes;        /* that it counts, if it is somebody's */
    size_t key_len;
    struct str value;
    uint64_t version;
    int64_t expires_ms;
    char key[];
};

struct scanning { /* what a scan looks for */
    struct store_scan scan;
    store_row_fn *row;
    struct cursor cursor; /* its name in key */
    char next[CURSOR_TEXT_MAX];
    char key[];
};

struct listed { /* a small record, as it was when it was asked for */
    struct listed *next;
    struct store_value value;
};

struct listing {
    struct arena arena;
    store_row_fn *row;
    struct listed *first;
};

struct reply_item {         /* the result of one item of a claim */
    struct stored_ask *ask; /* lives as long as its call */
    bool won;
    bool put; /* put up again, and still pending */
};

struct reply { /* a completion on its way */
    struct list link;
    struct memory_store *memory;
    store_done *done;
    void *data;
    nod_status status;
    bool with_call;
    bool wakes;               /* it is a hint, not a completion */
    struct stored_call *call; /* held */
    struct stored_ask *ask;   /* lives as long as its call */
    struct reply_item *items; /* of a claim */
    size_t item_count;
    char *value;
    struct scanning *scanning;
    struct listing *listing;
    bool tells;                /* it delivers hints of asks; not a completion */
    struct call_record *spent; /* its texts follow it */
    struct store_reply reply;
};

static inline struct memory_store *memory_of(struct store *store)
{
    return (struct memory_store *)store;
}

/* An operation, or the delivery of its rows, begins. Everything in it happens at one moment. Every
 * entry into the store passes here. */
static inline void memory_begin(struct memory_store *memory)
{
    memory->now_ms = clock_wall(memory->opts.clock);
}

static inline struct memory_store *memory_enter(struct store *store)
{
    memory_begin(memory_of(store));
    return memory_of(store);
}

/* The time of the operation under way. */
static inline int64_t memory_now(const struct memory_store *memory)
{
    return memory->now_ms;
}

/* Something is to be dropped, or runs out, at that time. */
static inline void memory_note_due(struct memory_store *memory, int64_t at)
{
    if (at < memory->due_at)
        memory->due_at = at;
}

/* --- memory_reply.c --- */

/* A completion; memory_send puts it on its way. */
struct reply *memory_reply(struct memory_store *memory, store_done *done, void *data,
                           nod_status status);
/* The reply shows the call, which therefore outlives it. */
void memory_hold(struct reply *reply, struct stored_call *call);
/* Shows the little that is left of a call. */
void memory_show_spent(struct reply *reply, const struct spent *spent);
void memory_send(struct reply *reply);
/* Tells whoever watches that the call is worth a look. */
void memory_hint(struct memory_store *memory, struct stored_call *call);
/* Tells whoever watches the asks of this one. */
void memory_hint_ask(struct memory_store *memory, struct stored_ask *ask, bool ended);
void memory_watch_asks(struct store *store, void (*told)(void *data, const struct ask_hint *hint),
                       void *data);
/* Replies on their way deliver nothing, and are freed when their turn comes. */
void memory_replies_drop(struct memory_store *memory);

/* True: a test wants this operation not to happen. The failure is on its way. */
bool memory_fails_before(struct memory_store *memory, const char *verb, enum memory_fault *fault,
                         store_done *done, void *data);
/* Sends the reply, unless a test wants it to be lost. */
void memory_finish_reply(struct reply *reply, enum memory_fault fault);

/* --- memory.c --- */

bool memory_id_is(const struct id *id, struct str s);
/* The ask leaves pending. */
void memory_ask_close(struct memory_store *memory, struct stored_ask *ask, enum ask_state state,
                      struct str content, struct str by, struct str via, struct str note);
/* Any node may take the call. Whoever waits for it here is told. */
void memory_call_runnable(struct memory_store *memory, struct stored_call *call);
/* The call runs, in its next epoch. */
void memory_call_start(struct memory_store *memory, struct stored_call *call);

/* The call can no longer be found. */
void memory_call_drop(struct memory_store *memory, struct stored_call *call);
/* One holder less: it can no longer be found, or a reply that showed it is over. */
void memory_call_release(struct memory_store *memory, struct stored_call *call);

/* --- memory_sweep.c --- */

/* Drops a few records whose time is over. */
void memory_sweep(struct memory_store *memory);
/* Drops a call that has ended: a mark remembers that, for as long as something could bring the call
 * back. */
void memory_ended_drop(struct memory_store *memory, struct stored_call *call);
/* With a heartbeat: drops many. */
void memory_sweep_beat(struct memory_store *memory);

/* --- memory_claim.c --- */

void memory_claim(struct store *store, const struct claim_spec *claim, store_done *done,
                  void *data);
/* The time of the ask was up long ago, and no claim has ended it. */
void memory_ask_expire(struct memory_store *memory, struct stored_ask *ask);

/* --- memory_record.c --- */

/* A call of this tally; an ask, the last of its call; and how the two end. Nothing else is set that
 * the store sets. */
struct stored_call *memory_call_make(struct memory_store *memory, const struct call_record *open,
                                     struct tally *tally);
struct stored_ask *memory_ask_make(struct memory_store *memory, struct stored_call *call,
                                   const struct ask_record *record);
struct call_end *memory_call_end_make(struct memory_store *memory, struct stored_call *call,
                                      struct str result);
struct ask_end *memory_ask_end_make(struct memory_store *memory, struct stored_ask *ask,
                                    struct str content, struct str by, struct str via,
                                    struct str note);
/* The call is in no list any more. */
void memory_call_free(struct memory_store *memory, struct stored_call *call);

/* The journal gets longer: by these entries; by that of an ask that has ended. */
void memory_journal_add(struct memory_store *memory, struct stored_call *call,
                        const struct entry *entries, size_t count);
void memory_journal_ask(struct memory_store *memory, const struct stored_ask *ask);

/* Their records; what they point to lives as long as the call. */
struct call_record memory_call_view(const struct stored_call *call);
struct ask_record memory_ask_view(const struct stored_ask *ask);

/* --- memory_index.c --- */

/* An ask can be found; and no longer. In between it is taken out while it comes to its end. */
void memory_index_add(struct memory_store *memory, struct stored_ask *ask);
void memory_index_remove(struct memory_store *memory, struct stored_ask *ask);
/* Rows of STORE_ASKS_PENDING and STORE_ASKS_ENDED. */
void memory_index_scan(struct reply *reply, size_t most);

/* --- memory_quota.c --- */

/* The tally of this principal, or NULL; and the same, made if there is none, to be released. */
struct tally *memory_tally_find(struct memory_store *memory, struct str principal);
struct tally *memory_tally_hold(struct memory_store *memory, struct str principal);
void memory_tally_release(struct memory_store *memory, struct tally *tally);
/* The records of this tally have grown by so many bytes. */
void memory_count(struct memory_store *memory, struct tally *tally, int64_t bytes);

/* A question begins to wait; and ends to wait. */
void memory_quota_add(struct memory_store *memory, struct stored_ask *ask);
void memory_quota_remove(struct memory_store *memory, struct stored_ask *ask);
/* Stops counting questions that ran out, at most so many. */
void memory_quota_lapse(struct memory_store *memory, size_t most);

/* The result of an ended call was handed out; and the call is dropped. */
void memory_fetched_add(struct memory_store *memory, struct stored_call *call);
/* Who goes first to make room: the oldest of the principal with most. NULL: nobody can. */
struct stored_call *memory_fetched_first(const struct memory_store *memory);
void memory_fetched_remove(struct memory_store *memory, struct stored_call *call);
/* Drops results that were handed out until so many more bytes fit, or none is left. */
void memory_make_room(struct memory_store *memory, struct tally *tally, uint64_t more);

/* Which bound keeps so many more questions, and bytes, from the principal of this tally (NULL: it
 * has no record yet)? And what a bound allows. */
enum store_quota memory_full(struct memory_store *memory, const struct tally *tally,
                             size_t questions, uint64_t bytes);
uint64_t memory_quota_most(const struct memory_store *memory, enum store_quota quota);

void memory_fetched(struct store *store, struct str call_id, store_done *done, void *data);
enum store_quota memory_is_full(struct store *store, struct str principal, uint64_t *most);
void memory_held(struct store *store, struct store_held *held);

/* What could bring the call back lives for so long from now. */
static inline void memory_keep_for(const struct memory_store *memory, struct stored_call *call,
                                   int64_t keep_for_ms)
{
    int64_t until;

    if (keep_for_ms <= 0)
        return;
    if (__builtin_add_overflow(memory_now(memory), keep_for_ms, &until))
        until = INT64_MAX;
    if (until > call->keep_until)
        call->keep_until = until;
}

/* --- memory_read.c, memory_values.c --- */

void memory_values_finish(struct memory_store *memory);
/* Drops small records whose time is over, at most so many. */
void memory_values_sweep(struct memory_store *memory, int most);
/* The rows of a scan, as the store is when its completion is delivered. */
void memory_scan_rows(struct reply *reply);

void memory_load_call(struct store *store, struct str call_id, store_done *done, void *data);
void memory_load_with_asks(struct store *store, struct str call_id, size_t most, store_row_fn *row,
                           store_done *done, void *data);
bool memory_lacks_call(const struct store *store, struct str call_id);
void memory_load_ask(struct store *store, struct str ask_id, store_done *done, void *data);
void memory_scan(struct store *store, const struct store_scan *scan, store_row_fn *row,
                 store_done *done, void *data);
void memory_put(struct store *store, struct str kind, struct str key, struct str value,
                struct str whose, uint64_t version, int64_t ttl_ms, store_done *done, void *data);
void memory_get(struct store *store, struct str kind, struct str key, store_done *done, void *data);
void memory_del(struct store *store, struct str kind, struct str key, store_done *done, void *data);
void memory_list(struct store *store, const struct store_list *list, store_row_fn *row,
                 store_done *done, void *data);
void memory_list_rows(struct reply *reply);
void memory_row_of_ask(struct reply *reply, const struct stored_ask *ask);
#endif
