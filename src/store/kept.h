/*
 * store/kept: how many bytes a record counts.
 *
 * What counts is the text that a principal has brought about, and a little for each record: its
 * row, its keys and its places in the indexes. The store's own form of it (sealed, or not) does not
 * matter, so that SQLite and Redis count the same. In memory a call counts with the memory that it
 * takes, once it is let in.
 */
#ifndef NOD_STORE_KEPT_H
#define NOD_STORE_KEPT_H

#include "core/store.h"

enum {
    KEPT_CALL_BYTES = 512,  /* a call counts these beside its texts; as the mark of an end, alone */
    KEPT_ASK_BYTES = 512,   /* a question, and its answer */
    KEPT_ENTRY_BYTES = 64,  /* an entry of a journal */
    KEPT_SMALL_BYTES = 256, /* a small record */
};

static inline int64_t kept_call(const struct call_record *call)
{
    return KEPT_CALL_BYTES +
           (int64_t)(call->principal.len + call->scope.len + call->target.len + call->args.len +
                     call->uri.len + call->caller.len + call->client.len + call->meta.len);
}

static inline int64_t kept_ask(const struct ask_record *ask)
{
    return KEPT_ASK_BYTES + (int64_t)(ask->key.len + ask->message.len + ask->detail.len +
                                      ask->url.len + ask->remember.len);
}

static inline int64_t kept_entries(const struct entry *entries, size_t count)
{
    int64_t bytes = 0;

    for (size_t i = 0; i < count; i++)
        bytes += KEPT_ENTRY_BYTES + (int64_t)(entries[i].key.len + entries[i].content.len +
                                              entries[i].note.len + entries[i].by.len);
    return bytes;
}

/* What a park or an append adds. */
static inline int64_t kept_park(const struct call_record *open, const struct entry *entries,
                                size_t entry_count, const struct ask_record *asks, size_t ask_count)
{
    int64_t bytes = (open ? kept_call(open) : 0) + kept_entries(entries, entry_count);

    for (size_t i = 0; i < ask_count; i++)
        bytes += kept_ask(&asks[i]);
    return bytes;
}

/* Only what is new is refused for want of bytes: see core/store.h. */
static inline bool kept_is_new(bool opens, size_t entry_count, size_t ask_count, size_t new_asks)
{
    return new_asks > 0 || (opens && ask_count == 0 && entry_count == 0);
}

/* A small record. */
static inline int64_t kept_small(struct str kind, struct str key, struct str value)
{
    return KEPT_SMALL_BYTES + (int64_t)(kind.len + key.len + value.len);
}

/* What a call of so many bytes gives back when its content goes. */
static inline int64_t kept_spare(int64_t bytes)
{
    return bytes > KEPT_CALL_BYTES ? bytes - KEPT_CALL_BYTES : 0;
}

#endif
