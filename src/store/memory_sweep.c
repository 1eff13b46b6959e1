/*
 * store/memory: dropping records whose time is over.
 *
 * A few records are dropped with each end and each park, and more with each heartbeat, so that none
 * pile up. An ended call is dropped after its time, or to make room. If it has to make room, a few
 * bytes remember that it has ended, for as long as something could bring it back: nothing else
 * takes them away. A call that could be run is dropped only when it is abandoned; or, if its
 * questions ran out with nobody there, when nothing can bring it back any more.
 */
#include "store/memory_inside.h"

#include "base/mem.h"

enum {
    SWEEP_MOST = 4,   /* records dropped with one operation */
    LEFT_MAX = 65536, /* calls that could be run, but that nothing can bring back */
};

void memory_ended_drop(struct memory_store *memory, struct stored_call *call)
{
    if (call->keep_until > memory_now(memory)) {
        /* The record is dropped before its time: a few bytes remember that the call has ended. They
         * count against its principal. */
        struct spent *spent = MEM_NEW(struct spent);

        spent->id = call->id;
        spent->state = call->state;
        spent->opened_ms = call->opened_ms;
        spent->tally = call->tally;
        spent->tally->holders++;
        memory_count(memory, spent->tally, MEMORY_MARK_BYTES);
        idmap_add(&memory->spent, spent);
        heap_set(&memory->spent_due, &spent->due, call->keep_until);
        memory_note_due(memory, call->keep_until);
    }
    memory_call_drop(memory, call);
}

/* Past the bound on how many are kept, who would go first of the principal with most goes, so
 * nobody pushes out what is another's; but a result that nobody has fetched makes no room. */
static void ended_sweep(struct memory_store *memory, int64_t now, int most)
{
    struct heap_node *first;

    for (int i = 0; i < most && (first = heap_first(&memory->ended)); i++) {
        struct stored_call *call = HEAP_OF(first, struct stored_call, due);
        if (first->at > now) {
            struct stored_call *oldest =
                memory->ended.count > memory->opts.keep_most ? memory_fetched_first(memory) : NULL;
            if (!oldest)
                break;
            if (!call->end->fetched || call->tally != oldest->tally)
                call = oldest;
        }
        memory_ended_drop(memory, call);
    }
}

/* Questions that ran out, and that nobody ended: their calls can be run without them. */
static void lapsed_sweep(struct memory_store *memory, int64_t now, int most)
{
    struct heap_node *first;

    memory_quota_lapse(memory, (size_t)most);
    for (int i = 0; i < most && (first = heap_first(&memory->lapsed)); i++) {
        if (first->at > now)
            break;
        memory_ask_expire(memory, HEAP_OF(first, struct stored_ask, due));
    }
}

/* Calls that could be run: first those that something could still bring back. When nothing can, a
 * call that nobody has answered goes, because nobody here looks for it; for the others there is the
 * rule for abandoned calls. */
static void idle_sweep(struct memory_store *memory, int64_t now, int most)
{
    struct heap_node *first;

    for (int i = 0; i < most && (first = heap_first(&memory->idle)); i++) {
        struct stored_call *call = HEAP_OF(first, struct stored_call, due);
        if (first->at > now)
            break;
        if (call->ran_out && call->keep_until && !memory->opts.looked_after) {
            memory_call_drop(memory, call);
            continue;
        }
        heap_remove(&memory->idle, first);
        call->left = true;
        heap_set(&memory->left, first, call->idle_since + memory->opts.abandoned_ms);
    }
    for (int i = 0; i < most && (first = heap_first(&memory->left)); i++) {
        if (first->at > now && memory->left.count <= LEFT_MAX)
            break;
        memory_call_drop(memory, HEAP_OF(first, struct stored_call, due));
    }
}

static void spent_sweep(struct memory_store *memory, int64_t now, int most)
{
    struct heap_node *first;

    for (int i = 0; i < most && (first = heap_first(&memory->spent_due)); i++) {
        if (first->at > now)
            break;
        struct spent *spent = HEAP_OF(first, struct spent, due);
        heap_remove(&memory->spent_due, &spent->due);
        idmap_remove(&memory->spent, spent);
        memory_count(memory, spent->tally, -MEMORY_MARK_BYTES);
        memory_tally_release(memory, spent->tally);
        mem_free(spent);
    }
}

/* When the first record is dropped, or the first question runs out. */
static int64_t earliest_due(struct memory_store *memory)
{
    const struct heap *heaps[] = { &memory->due,       &memory->lapsed, &memory->idle,
                                   &memory->left,      &memory->ended,  &memory->spent_due,
                                   &memory->values_due };
    int64_t earliest = INT64_MAX;

    for (size_t i = 0; i < sizeof(heaps) / sizeof(heaps[0]); i++) {
        const struct heap_node *first = heap_first(heaps[i]);
        if (first && first->at < earliest)
            earliest = first->at;
    }
    return earliest;
}

static void sweep(struct memory_store *memory, int most)
{
    int64_t now = memory_now(memory);

    if (memory->ended.count > memory->opts.keep_most || memory->due_at <= now)
        ended_sweep(memory, now, most);
    if (memory->due_at > now)
        return; /* the usual case */
    lapsed_sweep(memory, now, most);
    idle_sweep(memory, now, most);
    spent_sweep(memory, now, most);
    memory_values_sweep(memory, most);
    memory->due_at = earliest_due(memory);
}

/* Drops a few records whose time is over. */
void memory_sweep(struct memory_store *memory)
{
    sweep(memory, SWEEP_MOST);
}

void memory_sweep_beat(struct memory_store *memory)
{
    sweep(memory, MEMORY_SWEEP_BEAT);
}
