/*
 * store/memory: what goes, and when.
 *
 * A few records go with each end and each park, so that none piles up. A call that has ended goes
 * after its time, or to make room; then it is remembered in a few bytes that it has ended, as long
 * as something could bring it back. One that could be run goes when it is abandoned, and in no
 * other way.
 */
#include "store/memory_inside.h"

#include "base/mem.h"

enum {
    SWEEP_MOST = 4,   /* records dropped with one operation */
    LEFT_MAX = 65536, /* calls that could be run and nothing can bring back */
};

static void ended_drop(struct memory_store *memory, struct ended_call *call)
{
    for (uint32_t i = 0; i < call->is.ask_count; i++)
        idmap_remove(&memory->asks, &call->asks[i]);
    idmap_remove(&memory->calls, call);
    memory_call_release(memory, &call->is);
}

static void spent_drop(struct memory_store *memory, struct spent *spent)
{
    heap_remove(&memory->spent_due, &spent->due);
    idmap_remove(&memory->spent, spent);
    memory_tally_release(memory, spent->tally);
    mem_free(spent);
}

/* Its record goes before its time: that it has ended is remembered in a few bytes. Should there be
 * too many of these, the one goes that would go first. */
static void spent_add(struct memory_store *memory, const struct ended_call *call)
{
    struct spent *spent = MEM_NEW(struct spent);

    if (memory->spent.count >= MEMORY_SPENT_MAX)
        spent_drop(memory, HEAP_OF(heap_first(&memory->spent_due), struct spent, due));
    spent->id = call->is.id;
    spent->state = call->is.state;
    spent->opened_ms = call->is.opened_ms;
    spent->tally = call->is.tally;
    spent->tally->calls++;
    idmap_add(&memory->spent, spent);
    heap_set(&memory->spent_due, &spent->due, call->is.keep_until);
    memory_note_due(memory, call->is.keep_until);
}

static void ended_sweep(struct memory_store *memory, int64_t now)
{
    struct ended_call *call;

    for (int i = 0; i < SWEEP_MOST && (call = memory_ended_next(memory)); i++) {
        if (call->is.keep_until > now)
            spent_add(memory, call);
        ended_drop(memory, call);
    }
}

/* Questions that ran out, and that nobody came to end: their calls can be run without them. */
static void lapsed_sweep(struct memory_store *memory, int64_t now)
{
    struct heap_node *first;

    memory_quota_lapse(memory, SWEEP_MOST);
    for (int i = 0; i < SWEEP_MOST && (first = heap_first(&memory->lapsed)); i++) {
        if (first->at > now)
            break;
        memory_ask_expire(memory, HEAP_OF(first, struct stored_ask, due));
    }
}

/* Calls that could be run. What could bring them back is looked at first, then the rule of those
 * that are abandoned. */
static void idle_sweep(struct memory_store *memory, int64_t now)
{
    struct heap_node *first;

    for (int i = 0; i < SWEEP_MOST && (first = heap_first(&memory->idle)); i++) {
        struct stored_call *call = HEAP_OF(first, struct stored_call, idle);
        if (first->at > now)
            break;
        heap_remove(&memory->idle, first);
        call->left = true;
        heap_set(&memory->left, first, call->idle_since + memory->opts.abandoned_ms);
    }
    for (int i = 0; i < SWEEP_MOST && (first = heap_first(&memory->left)); i++) {
        if (first->at > now && memory->left.count <= LEFT_MAX)
            break;
        memory_call_drop(memory, HEAP_OF(first, struct stored_call, idle));
    }
}

static void spent_sweep(struct memory_store *memory, int64_t now)
{
    struct heap_node *first;

    for (int i = 0; i < SWEEP_MOST && (first = heap_first(&memory->spent_due)); i++) {
        if (first->at > now)
            break;
        spent_drop(memory, HEAP_OF(first, struct spent, due));
    }
}

/* When the first of all the records goes, or of the questions runs out. */
static int64_t earliest_due(struct memory_store *memory)
{
    const struct heap *heaps[] = { &memory->due, &memory->lapsed, &memory->idle, &memory->left,
                                   &memory->spent_due };
    int64_t earliest = memory_ended_due(memory);

    for (size_t i = 0; i < sizeof(heaps) / sizeof(heaps[0]); i++) {
        const struct heap_node *first = heap_first(heaps[i]);
        if (first && first->at < earliest)
            earliest = first->at;
    }
    return earliest;
}

/* Drops a few records whose time is over; called with every end, so that none piles up. */
void memory_sweep(struct memory_store *memory)
{
    int64_t now = memory_now(memory);

    if (memory->ended.count > memory->opts.keep_most || memory->due_at <= now)
        ended_sweep(memory, now);
    if (memory->due_at > now)
        return; /* as nearly always */
    lapsed_sweep(memory, now);
    idle_sweep(memory, now);
    spent_sweep(memory, now);
    memory->due_at = earliest_due(memory);
}
