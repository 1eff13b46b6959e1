/*
 * store/memory: what its files share.
 *
 * memory.c has the records of calls and asks, their transitions and the completions;
 * memory_values.c reads them, and has the small records and the stream events.
 */
#ifndef NOD_STORE_MEMORY_INSIDE_H
#define NOD_STORE_MEMORY_INSIDE_H

#include "base/heap.h"
#include "base/list.h"
#include "base/map.h"
#include "core/journal.h"
#include "store/memory.h"

struct memory_store {
    struct store store; /* first */
    struct memory_opts opts;
    struct map calls;   /* id -> struct stored_call */
    struct map asks;    /* id -> struct stored_ask */
    struct map values;  /* kind NUL key -> struct stored_value */
    struct map streams; /* stream -> struct stored_stream */
    struct heap ended;  /* calls that have ended, by when they are dropped */
    struct heap idle;   /* runnable ones, by when nobody is expected to come for them */
    struct map spent;   /* id -> struct spent */
    struct heap spent_due;
    struct heap due;     /* pending asks by expiry */
    struct list replies; /* completions on their way */
    uint64_t version;
    void (*wake)(void *data, struct str call_id);
    void *wake_data;
};

struct stored_call {
    struct id id;
    struct call_record record; /* slices point behind the struct, and into journal */
    struct journal journal;
    struct list asks;
    size_t pending;
    struct id token; /* of the newest operation */
    char *result;
    struct heap_node keep; /* in ended, or in idle */
    unsigned refs;
    bool dropped;
};

struct stored_ask {
    struct id id;
    struct stored_call *call;
    struct list link; /* in call->asks */
    struct heap_node due;
    struct ask_record record;
    struct id token; /* of the claim that ended it */
    uint64_t took;   /* the epoch that claim took, or 0 */
    char *answer;    /* content and by */
};

struct spent { /* a call that ended and had effects, when its record had to make room */
    struct id id;
    struct heap_node due;
};

struct stored_value {
    size_t key_len;
    struct str value;
    uint64_t version;
    int64_t expires_ms;
    char key[];
};

struct stored_event {
    struct list link;
    struct store_event event;
    int64_t expires_ms;
    char text[];
};

struct stored_stream {
    struct list events;
    size_t len;
    char name[];
};

struct reply { /* a completion on its way */
    struct list link;
    struct memory_store *memory;
    store_done *done;
    void *data;
    nod_status status;
    struct store_reply reply;
    struct stored_call *call; /* held */
    struct stored_ask *ask;   /* lives as long as its call */
    bool with_call;
    bool wakes; /* a hint, not a completion */
    char *value;
    struct store_scan scan;
    char *scan_key;
    store_row_fn *row;
};

static inline struct memory_store *memory_of(struct store *store)
{
    return (struct memory_store *)store;
}

static inline int64_t memory_now(const struct memory_store *memory)
{
    return clock_wall(memory->opts.clock);
}

/* A NUL-terminated copy at *at, which moves behind it. */
static inline struct str memory_place(char **at, struct str s)
{
    struct str copy = { *at, s.len };

    if (s.len)
        memcpy(*at, s.at, s.len);
    (*at)[s.len] = '\0';
    *at += s.len + 1;
    return copy;
}

/* --- memory.c --- */

/* A completion; memory_send puts it on its way. */
struct reply *memory_reply(struct memory_store *memory, store_done *done, void *data,
                           nod_status status);
/* It shows the call, which therefore outlives it. */
void memory_hold(struct reply *reply, struct stored_call *call);
void memory_send(struct reply *reply);

/* --- memory_values.c --- */

void memory_values_init(struct memory_store *memory);
void memory_values_finish(struct memory_store *memory);
void memory_event_add(struct memory_store *memory, const struct store_event *event);
/* Rows of a scan, as the store is when its completion is delivered. */
void memory_scan_rows(struct reply *reply);

void memory_load_call(struct store *store, struct str call_id, store_done *done, void *data);
void memory_load_ask(struct store *store, struct str ask_id, store_done *done, void *data);
void memory_scan(struct store *store, const struct store_scan *scan, store_row_fn *row,
                 store_done *done, void *data);
void memory_put(struct store *store, struct str kind, struct str key, struct str value,
                uint64_t version, int64_t ttl_ms, store_done *done, void *data);
void memory_get(struct store *store, struct str kind, struct str key, store_done *done, void *data);
void memory_del(struct store *store, struct str kind, struct str key, store_done *done, void *data);
void memory_beat(struct store *store, struct str node, int64_t ttl_ms, store_done *done,
                 void *data);
void memory_watch(struct store *store, struct str node,
                  void (*wake)(void *data, struct str call_id), void *data);

#endif
