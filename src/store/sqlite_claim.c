/*
 * store/sqlite: claims, on the writer's thread.
 *
 * All items are checked before anything is written. Then each end is written once: the journal
 * entries in one record, the row of each ask, and the row of the call.
 *
 * Holds always: calls.pending is the number of the call's pending asks.
 */
#include "store/claim_rules.h"
#include "store/sqlite_inside.h"

struct ask_row {
    struct ask_record *record;
    int64_t n;
    struct str token; /* of the claim that ended it, or last put it up again */
    bool won;         /* by this claim */
    bool ends;        /* this claim has just ended it */
};

/* Reads an ask, and its call into *call. False: it does not exist, or it was refused. */
static bool ask_find(struct sqlite_side *side, struct sqlite_op *op, struct str id,
                     struct ask_row *row, struct sqlite_call_row *call, uint64_t *took)
{
    struct query q = query(side, SQL_ASK_CLAIM);

    row->record = ARENA_NEW(&op->arena, struct ask_record);
    query_text(&q, id);
    bool found = query_row(&q) && row->record;
    if (found && sqlite_read_ask(&q, &op->arena, row->record)) {
        row->n = query_get_int(&q);
        row->token = query_get_bytes(&q, &op->arena);
        row->won = str_eq(row->token, op->token);
        uint64_t epoch = (uint64_t)query_get_int(&q);
        if (row->won && epoch)
            *took = epoch;
        sqlite_row_read(&q, &op->arena, call);
    }
    query_end(&q);
    if (!found && !side->error)
        op->status = NOD_E_NOT_FOUND;
    return found && !side->error && !side->refused;
}

/* False: op->status or side->error says why. */
static bool lite_claim_find(struct sqlite_side *side, struct sqlite_op *op, struct ask_row *rows,
                            struct sqlite_call_row *call, uint64_t *took)
{
    for (size_t i = 0; i < op->claim.count; i++) {
        struct sqlite_call_row its;
        if (!ask_find(side, op, op->claim.items[i].ask_id, &rows[i], &its, took))
            return false;
        if (i > 0 && its.n != call->n) {
            op->status = NOD_E_USAGE;
            return false;
        }
        *call = its;
    }
    return true;
}

static bool claim_mixes(const struct sqlite_op *op, const struct ask_row *rows)
{
    const struct claim_spec *claim = &op->claim;

    for (size_t i = 0; claim->whole && i < claim->count; i++)
        if (claim_contradicts(rows[i].record, rows[i].won, claim, &claim->items[i]))
            return true;
    return false;
}

static void put_again(struct sqlite_side *side, struct sqlite_op *op, struct ask_row *row)
{
    struct query q = query(side, SQL_ASK_AGAIN);

    query_int(&q, ++row->record->attempt);
    query_text(&q, op->token);
    query_int(&q, row->n);
    query_run(&q);
    row->won = true;
}

static void come_early(struct sqlite_side *side, struct ask_row *row, const struct claim_item *item)
{
    struct query q = query(side, SQL_ASK_CAME);
    char came[CLAIM_CAME_LEN];

    claim_came(item, came);
    query_text(&q, str_n(came, sizeof(came)));
    query_int(&q, row->n);
    query_run(&q);
    row->record->via = str_n(came, sizeof(came));
    claim_came_read(row->record);
    row->won = true;
}

/* Claims a pending ask, whose call is in this epoch. False: it is refused. */
static bool lite_claim_item(struct sqlite_side *side, struct sqlite_op *op, struct ask_row *row,
                            const struct claim_item *item, uint64_t epoch)
{
    struct ask_record *ask = row->record;
    bool due = op->now >= ask->expires_ms;
    bool late = due && claim_is_word(item);

    if (item->turn) {
        come_early(side, row, item);
        return true;
    }
    if (item->again && row->won)
        return true; /* this very claim has happened before */
    if ((item->attempt && item->attempt != ask->attempt) ||
        (op->claim.epoch && op->claim.epoch != epoch) ||
        (item->outcome == ASK_EXPIRED && !item->again && !due))
        return false;
    if (item->again && !late) {
        put_again(side, op, row);
        return true;
    }
    ask->state = late ? ASK_EXPIRED : item->outcome;
    ask->content = late ? STR_NONE : item->content;
    ask->by = late ? STR("nod") : op->claim.by;
    ask->note = late ? STR_NONE : item->note;
    ask->via = late ? STR("clock") : op->claim.via;
    ask->ended_ms = op->now;
    row->won = row->ends = true;
    return true;
}

static void ask_closed(struct sqlite_side *side, struct sqlite_op *op, const struct ask_row *row,
                       uint64_t took)
{
    if (!sqlite_wrote(side, codec_write_answer(&side->codec, row->record, sqlite_blank(side))))
        return;
    struct query q = query(side, SQL_ASK_END);
    query_int(&q, row->record->state);
    query_text(&q, op->token);
    query_int(&q, (int64_t)took);
    query_int(&q, row->record->ended_ms);
    query_text(&q, row->record->via);
    query_blob(&q, sqlite_fresh(side));
    query_int(&q, row->n);
    query_run(&q);
}

/* The call has so many pending asks less, and may be taken. Returns the epoch, or 0. */
static uint64_t lite_call_claimed(struct sqlite_side *side, struct sqlite_op *op,
                                  struct sqlite_call_row *call, struct str call_id, int64_t ended)
{
    uint64_t took = 0;

    call->handed |= op->claim.handed;
    call->pending = call->pending > ended ? call->pending - ended : 0;
    if (ended && call->pending == 0 && call->state == CALL_STORED_WAITING) {
        if (op->claim.take_for.len) {
            call->state = CALL_STORED_RUNNING;
            took = ++call->epoch;
            call->node = op->claim.take_for;
        } else {
            call->state = CALL_STORED_RUNNABLE;
            call->idle_ms = sqlite_used(side);
            op->wake = call_id;
        }
    }
    struct query q = query(side, SQL_CALL_CLAIMED);
    query_int(&q, call->state);
    query_int(&q, (int64_t)call->epoch);
    query_int(&q, call->pending);
    query_text(&q, call->node);
    query_int(&q, call->handed);
    query_int_or_null(&q, call->state == CALL_STORED_RUNNABLE, call->idle_ms);
    query_int(&q, side->moved_bytes);
    query_int(&q, call->n);
    query_run(&q);
    return took;
}

/* Asks that have just ended: into the journal and their rows, and no longer counted. */
static int64_t claim_end(struct sqlite_side *side, struct sqlite_op *op, struct ask_row *rows,
                         struct sqlite_call_row *call)
{
    struct entry *entries = arena_alloc(&op->arena, (op->claim.count + 1) * sizeof(*entries));
    size_t ended = 0;

    for (size_t i = 0; entries && i < op->claim.count; i++) {
        if (!rows[i].ends)
            continue;
        entries[ended++] = codec_entry_of(rows[i].record);
        side->moved -= sqlite_quota_counts(side, rows[i].record->expires_ms);
    }
    side->moved_owner = call->owner;
    side->moved_bytes = kept_entries(entries, ended);
    if (ended)
        sqlite_journal_add(side, call, rows[0].record->call_id, entries, ended);
    return (int64_t)ended;
}

static void claim_shown(struct sqlite_side *side, struct sqlite_op *op, const struct ask_row *rows,
                        const struct sqlite_call_row *call, uint64_t took)
{
    struct claimed *claimed = arena_alloc(&op->arena, op->claim.count * sizeof(*claimed));

    for (size_t i = 0; claimed && i < op->claim.count; i++)
        claimed[i] = (struct claimed){ rows[i].record, rows[i].won };
    op->reply.claimed = claimed;
    op->reply.claimed_count = claimed ? op->claim.count : 0;
    op->reply.ask = rows[0].record;
    op->reply.won = rows[0].won;
    op->reply.taken = took != 0;
    op->reply.epoch = took;
    if (took)
        op->reply.call = sqlite_read_call_number(side, op, call->n);
}

void sqlite_claim(struct sqlite_side *side, struct sqlite_op *op)
{
    const struct claim_spec *claim = &op->claim;
    struct ask_row *rows = arena_zalloc(&op->arena, (claim->count + 1) * sizeof(*rows));
    struct sqlite_call_row call = { 0 };
    bool refused = false, won = false, had = false;
    uint64_t took = 0;

    op->wake = STR_NONE;
    if (claim->count == 0)
        op->status = NOD_E_USAGE;
    if (!rows || claim->count == 0 || !lite_claim_find(side, op, rows, &call, &took))
        return;
    if (claim_mixes(op, rows)) {
        op->status = NOD_E_STALE;
        claim_shown(side, op, rows, &call, 0);
        return;
    }
    for (size_t i = 0; i < claim->count; i++) {
        bool before = rows[i].won;
        if (rows[i].record->state == ASK_PENDING)
            refused |= !lite_claim_item(side, op, &rows[i], &claim->items[i], call.epoch);
        won |= rows[i].won;
        had |= rows[i].won && !before;
    }
    int64_t ended = claim_end(side, op, rows, &call);
    if (had && !side->error && !side->refused) {
        uint64_t taken = lite_call_claimed(side, op, &call, rows[0].record->call_id, ended);
        took = taken ? taken : took;
        for (size_t i = 0; i < claim->count; i++)
            if (rows[i].ends)
                ask_closed(side, op, &rows[i], taken);
    }
    if (side->error || side->refused)
        return;
    if (refused && !won)
        op->status = NOD_E_STALE;
    claim_shown(side, op, rows, &call, took);
}
