/*
 * store/memory: how many bytes are kept, in all and for each principal, and making room.
 *
 * A record counts with the memory it takes: its texts, its journal, its asks, its result. What is
 * left of a call whose content had to go, a mark, counts too, so that no number of calls is without
 * a bound.
 *
 * Room is made of ended calls whose results were handed out, the oldest first. `spare` is what they
 * would give back, less their marks. So it is known before anything is dropped whether that would
 * be enough, and an operation that is refused drops nothing.
 *
 * Holds always: tally->bytes is the sum of the bytes of its calls, its marks and its small records,
 * memory->bytes that of all tallies. An ended call is in both lists of fetched ones, or in none.
 */
#include "store/memory_inside.h"

enum {
    /* of a mark: its struct, and its places in the map and the heap */
    MARK_BYTES = sizeof(struct spent) + 64,
};

void memory_bytes_init(struct memory_store *memory)
{
    list_init(&memory->fetched);
}

void memory_bytes_add(struct memory_store *memory, struct stored_call *call, size_t more)
{
    call->bytes += (uint32_t)more;
    call->tally->bytes += more;
    memory->bytes += more;
}

void memory_bytes_drop(struct memory_store *memory, struct stored_call *call)
{
    call->tally->bytes -= call->bytes;
    memory->bytes -= call->bytes;
    call->bytes = 0;
}

void memory_bytes_mark(struct memory_store *memory, struct tally *tally)
{
    tally->bytes += MARK_BYTES;
    memory->bytes += MARK_BYTES;
}

void memory_bytes_unmark(struct memory_store *memory, struct tally *tally)
{
    tally->bytes -= MARK_BYTES;
    memory->bytes -= MARK_BYTES;
}

void memory_bytes_value(struct memory_store *memory, struct tally *tally, size_t now, size_t before)
{
    tally->bytes += now - before;
    memory->bytes += now - before;
}

size_t memory_park_bytes(const struct park_spec *park)
{
    const struct call_record *open = park->open;
    size_t bytes = park->entry_count * sizeof(struct entry) +
                   entries_text_bytes(park->entries, park->entry_count);

    if (open)
        bytes += sizeof(struct stored_call) + open->scope.len + open->target.len + open->args.len +
                 open->uri.len + open->caller.len + open->client.len;
    for (size_t i = 0; i < park->ask_count; i++) {
        const struct ask_record *ask = &park->asks[i];
        bytes += sizeof(struct stored_ask) + ask->key.len + ask->message.len + ask->detail.len +
                 ask->url.len + ask->remember.len;
    }
    return bytes;
}

/* --- making room --- */

static uint64_t spare_of(const struct stored_call *call)
{
    return call->bytes > MARK_BYTES ? call->bytes - MARK_BYTES : 0;
}

void memory_bytes_fetched(struct memory_store *memory, struct stored_call *call)
{
    struct tally *tally = call->tally;

    if (call->end->fetched)
        return;
    call->end->fetched = true;
    list_append(&memory->fetched, &call->end->in_all);
    list_append(&tally->fetched, &call->end->of_tally);
    memory->spare += spare_of(call);
    tally->spare += spare_of(call);
}

void memory_bytes_unlist(struct memory_store *memory, struct stored_call *call)
{
    if (!call->end || !call->end->fetched)
        return;
    call->end->fetched = false;
    list_remove(&call->end->in_all);
    list_remove(&call->end->of_tally);
    memory->spare -= spare_of(call);
    call->tally->spare -= spare_of(call);
}

static void give_way(struct memory_store *memory, struct stored_call *call)
{
    memory_ended_drop(memory, call);
    memory->dropped++;
}

static bool fits(uint64_t bytes, uint64_t more, uint64_t most)
{
    return most == 0 || (bytes <= most && more <= most - bytes);
}

/* Drops the oldest until so many more bytes fit, or nothing is left that could go. The tally is
 * held. */
static void make_room(struct memory_store *memory, struct tally *tally, uint64_t more)
{
    const struct memory_opts *opts = &memory->opts;
    struct list *first;

    while (tally && !fits(tally->bytes, more, opts->kept_bytes_per_principal) &&
           (first = list_first(&tally->fetched)))
        give_way(memory, LIST_OF(first, struct call_end, of_tally)->call);
    while (!fits(memory->bytes, more, opts->kept_bytes) && (first = list_first(&memory->fetched)))
        give_way(memory, LIST_OF(first, struct call_end, in_all)->call);
}

static enum store_quota bound_met(const struct memory_store *memory, const struct tally *tally,
                                  uint64_t more)
{
    const struct memory_opts *opts = &memory->opts;

    if (!fits(tally ? tally->bytes - tally->spare : 0, more, opts->kept_bytes_per_principal))
        return STORE_QUOTA_BYTES_PRINCIPAL;
    return fits(memory->bytes - memory->spare, more, opts->kept_bytes) ? STORE_QUOTA_NONE
                                                                       : STORE_QUOTA_BYTES_ALL;
}

enum store_quota memory_bytes_full(struct memory_store *memory, struct tally *tally, size_t more)
{
    enum store_quota quota = bound_met(memory, tally, more);

    if (quota) {
        memory->refused++;
        return quota;
    }
    if (tally)
        tally->calls++; /* so that it outlives its last call: there is another in a moment */
    make_room(memory, tally, more);
    if (tally)
        tally->calls--;
    return STORE_QUOTA_NONE;
}

void memory_bytes_trim(struct memory_store *memory, struct tally *tally)
{
    tally->calls++;
    make_room(memory, tally, 0);
    memory_tally_release(memory, tally);
}

/* --- what the rest of the store is told, and tells --- */

void memory_fetched(struct store *store, struct str call_id)
{
    struct memory_store *memory = memory_enter(store);
    struct stored_call *call = idmap_get(&memory->calls, call_id);

    if (!call || !call->end)
        return;
    memory_bytes_fetched(memory, call);
    memory_bytes_trim(memory, call->tally);
}

enum store_quota memory_is_full(struct store *store, struct str principal, uint64_t *most)
{
    struct memory_store *memory = memory_of(store);
    enum store_quota quota = bound_met(memory, memory_tally_find(memory, principal), 1);

    *most = quota == STORE_QUOTA_BYTES_ALL ? memory->opts.kept_bytes
                                           : memory->opts.kept_bytes_per_principal;
    memory->refused += quota != STORE_QUOTA_NONE;
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
