/*
 * store/memory: how many questions wait and how many bytes are kept, in all and for each principal,
 * and making room.
 *
 * sqlite_quota.c and redis_quota.c do the same. What bounds the bytes of a principal elsewhere:
 * docs/inside/store.md, "Whose bytes".
 *
 * A question that waits is in `due` and is counted. When its time is over it moves to `lapsed` and
 * is no longer counted, because nobody may ever come to end it.
 *
 * A record counts with the memory it takes: its texts, its journal, its asks, its result. What is
 * left of a call whose content had to go, a mark, counts too, so that no number of calls is without
 * a bound. Room is made of ended calls whose results were handed out, the oldest first. `spare` is
 * what they would give back, less their marks. So it is known before anything is dropped whether
 * that would be enough, and an operation that is refused drops nothing.
 *
 * Holds always: a principal has one tally, exactly while it has records. tally->pending counts its
 * asks in `due`, tally->bytes is the sum of the bytes of its calls, its marks and its small
 * records, memory->bytes that of all tallies. An ended call is in both lists of fetched ones, or in
 * none.
 */
#include "store/memory_inside.h"

#include "base/mem.h"

enum { LAPSED_MS = 5000 }; /* for whoever ends a question itself, because its call is live */

/* --- tallies --- */

struct tally *memory_tally_find(struct memory_store *memory, struct str principal)
{
    return map_get(&memory->tallies, principal);
}

struct tally *memory_tally_hold(struct memory_store *memory, struct str principal)
{
    struct tally *tally = map_get(&memory->tallies, principal);

    if (!tally) {
        tally = mem_zalloc(sizeof(*tally) + principal.len + 1);
        char *at = tally->text;
        tally->name = str_place(&at, principal);
        list_init(&tally->fetched);
        map_add(&memory->tallies, tally->name, tally);
    }
    tally->holders++;
    return tally;
}

void memory_tally_release(struct memory_store *memory, struct tally *tally)
{
    if (--tally->holders > 0)
        return;
    map_remove(&memory->tallies, tally->name);
    mem_free(tally);
}

void memory_count(struct memory_store *memory, struct tally *tally, int64_t bytes)
{
    tally->bytes += (uint64_t)bytes;
    memory->bytes += (uint64_t)bytes;
}

/* --- questions --- */

void memory_quota_add(struct memory_store *memory, struct stored_ask *ask)
{
    heap_set(&memory->due, &ask->due, ask->expires_ms);
    memory_note_due(memory, ask->expires_ms);
    ask->call->tally->pending++;
}

void memory_quota_remove(struct memory_store *memory, struct stored_ask *ask)
{
    heap_remove(ask->lapsed ? &memory->lapsed : &memory->due, &ask->due);
    ask->call->tally->pending -= !ask->lapsed;
}

void memory_quota_lapse(struct memory_store *memory, size_t most)
{
    int64_t now = memory_now(memory);
    struct heap_node *first;

    for (; most > 0 && (first = heap_first(&memory->due)) && first->at <= now; most--) {
        struct stored_ask *ask = HEAP_OF(first, struct stored_ask, due);
        memory_quota_remove(memory, ask);
        ask->lapsed = true;
        int64_t keep_ms = memory->opts.keep_ms;
        int64_t until = ask->expires_ms + (keep_ms < LAPSED_MS ? keep_ms : LAPSED_MS);
        heap_set(&memory->lapsed, first, until);
        memory_note_due(memory, until);
    }
}

/* --- making room --- */

static uint64_t spare_of(const struct stored_call *call)
{
    return call->bytes > MEMORY_MARK_BYTES ? call->bytes - MEMORY_MARK_BYTES : 0;
}

static void fetched_count(struct memory_store *memory, struct tally *tally, int64_t more)
{
    tally->fetched_count += more;
    if (tally->fetched_count)
        heap_set(&memory->fetched, &tally->most, -tally->fetched_count);
    else
        heap_remove(&memory->fetched, &tally->most);
}

struct stored_call *memory_fetched_first(const struct memory_store *memory)
{
    const struct heap_node *first = heap_first(&memory->fetched);

    if (!first)
        return NULL;
    struct tally *most = HEAP_OF(first, struct tally, most);
    return LIST_OF(list_first(&most->fetched), struct call_end, of_tally)->call;
}

void memory_fetched_add(struct memory_store *memory, struct stored_call *call)
{
    if (call->end->fetched)
        return;
    call->end->fetched = true;
    list_append(&call->tally->fetched, &call->end->of_tally);
    fetched_count(memory, call->tally, 1);
    memory->spare += spare_of(call);
    call->tally->spare += spare_of(call);
}

void memory_fetched_remove(struct memory_store *memory, struct stored_call *call)
{
    if (!call->end || !call->end->fetched)
        return;
    call->end->fetched = false;
    list_remove(&call->end->of_tally);
    fetched_count(memory, call->tally, -1);
    memory->spare -= spare_of(call);
    call->tally->spare -= spare_of(call);
}

static bool memory_fits(uint64_t count, uint64_t more, uint64_t most)
{
    return most == 0 || (count <= most && more <= most - count);
}

void memory_make_room(struct memory_store *memory, struct tally *tally, uint64_t more)
{
    const struct memory_opts *opts = &memory->opts;
    struct stored_call *ended;
    struct list *first;

    tally->holders++; /* its last record may go */
    while (!memory_fits(tally->bytes, more, opts->kept_bytes_per_principal) &&
           (first = list_first(&tally->fetched))) {
        memory_ended_drop(memory, LIST_OF(first, struct call_end, of_tally)->call);
        memory->dropped++;
    }
    while (!memory_fits(memory->bytes, more, opts->kept_bytes) &&
           (ended = memory_fetched_first(memory))) {
        memory_ended_drop(memory, ended);
        memory->dropped++;
    }
    memory_tally_release(memory, tally);
}

/* --- bounds --- */

static enum store_quota questions_full(struct memory_store *memory, const struct tally *tally,
                                       size_t more)
{
    const struct memory_opts *opts = &memory->opts;

    if (more == 0)
        return STORE_QUOTA_NONE;
    memory_quota_lapse(memory, SIZE_MAX);
    if (!memory_fits(tally ? tally->pending : 0, more, opts->pending_asks_per_principal))
        return STORE_QUOTA_PRINCIPAL;
    return memory_fits(memory->due.count, more, opts->pending_asks) ? STORE_QUOTA_NONE
                                                                    : STORE_QUOTA_ALL;
}

static enum store_quota bytes_full(struct memory_store *memory, const struct tally *tally,
                                   uint64_t more)
{
    const struct memory_opts *opts = &memory->opts;
    enum store_quota quota = STORE_QUOTA_NONE;

    if (!memory_fits(tally ? tally->bytes - tally->spare : 0, more, opts->kept_bytes_per_principal))
        quota = STORE_QUOTA_BYTES_PRINCIPAL;
    else if (!memory_fits(memory->bytes - memory->spare, more, opts->kept_bytes))
        quota = STORE_QUOTA_BYTES_ALL;
    memory->refused += quota != STORE_QUOTA_NONE;
    return quota;
}

enum store_quota memory_full(struct memory_store *memory, const struct tally *tally,
                             size_t questions, uint64_t bytes)
{
    enum store_quota quota = questions_full(memory, tally, questions);

    return quota || bytes == 0 ? quota : bytes_full(memory, tally, bytes);
}

uint64_t memory_quota_most(const struct memory_store *memory, enum store_quota quota)
{
    const struct memory_opts *opts = &memory->opts;

    return quota == STORE_QUOTA_ALL               ? opts->pending_asks
           : quota == STORE_QUOTA_PRINCIPAL       ? opts->pending_asks_per_principal
           : quota == STORE_QUOTA_BYTES_ALL       ? opts->kept_bytes
           : quota == STORE_QUOTA_BYTES_PRINCIPAL ? opts->kept_bytes_per_principal
                                                  : 0;
}

/* --- what the rest of the server tells, and is told --- */

void memory_fetched(struct store *store, struct str call_id, store_done *done, void *data)
{
    struct memory_store *memory = memory_enter(store);
    struct stored_call *call = idmap_get(&memory->calls, call_id);
    bool ended = call && call->end;

    if (ended) {
        memory_fetched_add(memory, call);
        memory_make_room(memory, call->tally, 0);
    }
    if (done)
        memory_send(memory_reply(memory, done, data, ended ? NOD_OK : NOD_E_NOT_FOUND));
}

enum store_quota memory_is_full(struct store *store, struct str principal, uint64_t *most)
{
    struct memory_store *memory = memory_of(store);
    enum store_quota quota = bytes_full(memory, memory_tally_find(memory, principal), 1);

    *most = memory_quota_most(memory, quota);
    return quota;
}

void memory_held(struct store *store, struct store_held *held)
{
    const struct memory_store *memory = memory_of(store);

    *held = (struct store_held){ .bytes = memory->bytes,
                                 .bytes_most = memory->opts.kept_bytes,
                                 .each_most = memory->opts.kept_bytes_per_principal,
                                 .refused = memory->refused,
                                 .dropped = memory->dropped };
}
