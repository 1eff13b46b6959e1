/*
 * store/sqlite: the transitions, on the writer's thread.
 *
 * Each runs inside the batch's transaction (sqlite_side.c), looks first and writes then. What it
 * may do and what it answers is said in core/store.h; an operation that finds its own token has
 * happened and changes nothing. It may be run twice, the first time undone.
 *
 * Holds always: calls.pending is the number of the call's pending asks. A call that has ended has a
 * drop_ms, after which it is removed. A runnable one has an idle_ms: how long the file had been in
 * use when it became so (sqlite_sweep.c).
 */
#include "store/claim.h"
#include "store/sqlite_inside.h"

struct call_row {
    int64_t n;
    enum call_state state;
    uint64_t epoch;
    int64_t pending;
    struct str token;
    int64_t keep_until_ms;
    bool handed;
    struct str scope;
    struct str node;
    int64_t idle_ms; /* only of a runnable one */
    int64_t owner;   /* its principal, as sqlite_quota.c counts */
    bool sensitive;  /* one of its questions is */
};

static void call_row_read(struct query *q, struct arena *arena, struct call_row *row)
{
    row->n = query_get_int(q);
    row->state = (enum call_state)query_get_int(q);
    row->epoch = (uint64_t)query_get_int(q);
    row->pending = query_get_int(q);
    row->token = query_get_bytes(q, arena);
    row->keep_until_ms = query_get_int(q);
    row->handed = query_get_int(q);
    row->scope = query_get_bytes(q, arena);
    row->node = query_get_bytes(q, arena);
    row->idle_ms = query_get_int(q);
    row->owner = query_get_int(q);
    row->sensitive = query_get_int(q);
}

static bool call_find(struct sqlite_side *side, struct sqlite_op *op, struct str id,
                      struct call_row *row)
{
    struct query q = query(side, SQL_CALL_FIND);

    query_text(&q, id);
    bool found = query_row(&q);
    if (found)
        call_row_read(&q, &op->arena, row);
    query_end(&q);
    return found;
}

static bool has_ended(const struct call_row *row)
{
    return row->state == CALL_STORED_FINISHED || row->state == CALL_STORED_CANCELLED;
}

/* What could bring it back lives so much longer. */
static void row_keep(struct call_row *row, const struct sqlite_op *op)
{
    int64_t until;

    row->handed |= op->handed;
    if (op->keep_for_ms <= 0)
        return;
    if (__builtin_add_overflow(op->now, op->keep_for_ms, &until))
        until = INT64_MAX;
    if (until > row->keep_until_ms)
        row->keep_until_ms = until;
}

/* A record that is too large is the operation's fault, and not a failure of the store. */
static bool wrote(struct sqlite_side *side, nod_status status)
{
    if (status != NOD_OK)
        side->refused = status;
    return status == NOD_OK;
}

static struct str fresh(struct sqlite_side *side)
{
    return buf_str(&side->buf);
}

static void drop_by_number(struct sqlite_side *side, enum sql statement, int64_t n)
{
    struct query q = query(side, statement);

    query_int(&q, n);
    query_run(&q);
}

int64_t sqlite_call_drop(struct sqlite_side *side, int64_t n, int64_t pending)
{
    int64_t counted = pending ? sqlite_quota_of_call(side, n) : 0;

    drop_by_number(side, SQL_ASKS_DROP, n);
    drop_by_number(side, SQL_JOURNAL_DROP, n);
    drop_by_number(side, SQL_CALL_DROP, n);
    return counted;
}

/* --- park, append ----------------------------------------------------------------------------- */

static void query_idle(struct query *q, const struct call_row *row)
{
    if (row->state == CALL_STORED_RUNNABLE)
        query_int(q, row->idle_ms);
    else
        query_null(q);
}

/* False, with row->n 0 and no error: it is stored already. */
static bool call_add(struct sqlite_side *side, struct sqlite_op *op, struct call_row *row)
{
    const struct call_record *open = op->open;

    row->n = 0;
    buf_clear(&side->buf);
    if (!wrote(side, codec_write_call(&side->codec, open, &side->buf)))
        return false;
    struct query q = query(side, SQL_CALL_ADD);
    query_text(&q, op->id);
    query_blob(&q, open->scope);
    query_blob(&q, fresh(side));
    query_int(&q, op->now);
    query_int(&q, row->owner);
    query_int(&q, row->sensitive);
    query_int(&q, row->state);
    query_int(&q, row->pending);
    query_text(&q, op->token);
    query_int(&q, op->notices);
    query_text(&q, op->node);
    query_int(&q, row->keep_until_ms);
    query_int(&q, row->handed);
    query_idle(&q, row);
    if (!query_run(&q) || sqlite3_changes(side->db) == 0)
        return false;
    row->n = sqlite3_last_insert_rowid(side->db);
    return true;
}

static bool call_parked(struct sqlite_side *side, struct sqlite_op *op, const struct call_row *row)
{
    struct query q = query(side, SQL_CALL_PARK);

    query_int(&q, row->sensitive);
    query_int(&q, row->state);
    query_int(&q, row->pending);
    query_text(&q, op->token);
    query_int(&q, op->notices);
    query_text(&q, op->node);
    query_int(&q, row->keep_until_ms);
    query_int(&q, row->handed);
    query_idle(&q, row);
    query_int(&q, row->n);
    return query_run(&q);
}

static void journal_add(struct sqlite_side *side, const struct call_row *row, struct str call_id,
                        const struct entry *entries, size_t count)
{
    buf_clear(&side->buf);
    if (!wrote(side,
               codec_write_entries(&side->codec, row->scope, call_id, entries, count, &side->buf)))
        return;
    struct query q = query(side, SQL_JOURNAL_ADD);
    query_int(&q, row->n);
    query_blob(&q, fresh(side));
    query_run(&q);
}

static void ask_add(struct sqlite_side *side, const struct call_row *row, struct ask_record *ask)
{
    ask->scope = row->scope;
    buf_clear(&side->buf);
    if (!wrote(side, codec_write_ask(&side->codec, ask, &side->buf)))
        return;
    struct query q = query(side, SQL_ASK_ADD);
    query_text(&q, ask->id);
    query_int(&q, row->n);
    query_int(&q, ask->sensitive);
    query_int(&q, ask->asked_ms);
    query_int(&q, ask->expires_ms);
    query_int(&q, ask->attempt);
    query_blob(&q, fresh(side));
    query_run(&q);
}

static void asks_set_times(struct sqlite_op *op)
{
    for (size_t i = 0; i < op->ask_count; i++) {
        struct ask_record *ask = &op->asks[i];
        if (!ask->asked_ms)
            ask->asked_ms = op->now;
        if (!ask->expires_ms)
            ask->expires_ms = ask->asked_ms + ask->ttl_ms;
    }
}

/* A call that waits here and has gone on elsewhere gives way to what its client has brought. */
static bool is_behind(struct sqlite_side *side, struct sqlite_op *op, const struct call_row *row)
{
    if (!op->open || row->state != CALL_STORED_WAITING || op->entry_count == 0 ||
        op->verb->run != sqlite_park)
        return false;
    const struct call_record *call = sqlite_read_call(side, op, op->id);
    return call && call->entry_count < op->entry_count;
}

/* The call as this operation leaves it: waiting for its questions, runnable, or running on. */
static void row_set(struct sqlite_side *side, struct sqlite_op *op, struct call_row *row)
{
    asks_set_times(op);
    row_keep(row, op);
    row->pending += (int64_t)op->ask_count;
    for (size_t i = 0; i < op->ask_count; i++)
        row->sensitive |= op->asks[i].sensitive;
    for (size_t i = 0; i < op->entry_count; i++)
        row->sensitive |= op->entries[i].sensitive;
    if (op->verb->run != sqlite_park) {
        row->state = CALL_STORED_RUNNING;
        return;
    }
    row->state = row->pending ? CALL_STORED_WAITING : CALL_STORED_RUNNABLE;
    if (row->pending)
        return;
    row->idle_ms = sqlite_used(side);
    op->wake = op->id;
}

static void add_parts(struct sqlite_side *side, struct sqlite_op *op, const struct call_row *row)
{
    if (op->entry_count)
        journal_add(side, row, op->id, op->entries, op->entry_count);
    side->moved_owner = row->owner;
    for (size_t i = 0; i < op->ask_count; i++) {
        ask_add(side, row, &op->asks[i]);
        side->moved += sqlite_quota_counts(side, op->asks[i].expires_ms);
    }
}

/* What comes back with its call was let in before. */
static bool room_for_asks(struct sqlite_side *side, struct sqlite_op *op, int64_t owner)
{
    const struct sqlite_store *store = side->store;
    enum store_quota quota = op->new_asks
                                 ? sqlite_quota_full(side, owner, (int64_t)op->new_asks, op->now)
                                 : STORE_QUOTA_NONE;

    op->reply.quota = quota;
    op->reply.quota_most = (uint64_t)(quota == STORE_QUOTA_NONE  ? 0
                                      : quota == STORE_QUOTA_ALL ? store->pending_most
                                                                 : store->pending_most_each);
    return quota == STORE_QUOTA_NONE;
}

/* False: it is stored already, or something failed. */
static bool open_call(struct sqlite_side *side, struct sqlite_op *op)
{
    struct call_row row = { .epoch = 1,
                            .scope = op->open->scope,
                            .owner = sqlite_quota_owner(op->open->principal) };

    if (!room_for_asks(side, op, row.owner)) {
        struct call_row found;
        if (call_find(side, op, op->id, &found)) {
            op->reply.quota = STORE_QUOTA_NONE;
            op->reply.quota_most = 0;
            return false; /* perhaps by this very operation */
        }
        op->status = NOD_E_LIMIT;
        return true;
    }
    row_set(side, op, &row);
    if (!call_add(side, op, &row))
        return side->error || side->refused;
    add_parts(side, op, &row);
    return true;
}

/* One that was stored before. */
static void save_call(struct sqlite_side *side, struct sqlite_op *op)
{
    struct call_row row;

    op->wake = STR_NONE;
    if (!call_find(side, op, op->id, &row)) {
        op->status = NOD_E_NOT_FOUND;
        return;
    }
    if (str_eq(row.token, op->token))
        return; /* this very operation has happened */
    if (is_behind(side, op, &row)) {
        if (!room_for_asks(side, op, row.owner)) {
            op->status = NOD_E_LIMIT; /* and the one that waits goes on waiting */
            return;
        }
        side->moved -= sqlite_call_drop(side, row.n, row.pending);
        open_call(side, op);
        return;
    }
    if (op->open || row.epoch != op->epoch || row.state != CALL_STORED_RUNNING) {
        op->status = NOD_E_STALE; /* with `open`: it is here already */
        return;
    }
    if (!room_for_asks(side, op, row.owner)) {
        op->status = NOD_E_LIMIT;
        return;
    }
    row_set(side, op, &row);
    if (call_parked(side, op, &row))
        add_parts(side, op, &row);
}

void sqlite_park(struct sqlite_side *side, struct sqlite_op *op)
{
    if (!op->open || !open_call(side, op))
        save_call(side, op);
}

void sqlite_append(struct sqlite_side *side, struct sqlite_op *op)
{
    if (!op->open || !open_call(side, op))
        save_call(side, op);
}

/* --- claim, take ------------------------------------------------------------------------------ */

struct ask_row {
    struct ask_record *record;
    int64_t n;
    struct str token; /* of the claim that ended it, or put it up again last */
    bool won;         /* by the claim at hand */
    bool ends;        /* the claim at hand has just ended it */
};

/* Its call into *call. False: it is not there, or it was refused. */
static bool ask_find(struct sqlite_side *side, struct sqlite_op *op, struct str id,
                     struct ask_row *row, struct call_row *call, uint64_t *took)
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
        call_row_read(&q, &op->arena, call);
    }
    query_end(&q);
    if (!found && !side->error)
        op->status = NOD_E_NOT_FOUND;
    return found && !side->error && !side->refused;
}

/* False: op->status says why, or the side does. */
static bool claim_find(struct sqlite_side *side, struct sqlite_op *op, struct ask_row *rows,
                       struct call_row *call, uint64_t *took)
{
    for (size_t i = 0; i < op->claim.count; i++) {
        struct call_row its;
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

/* One that is pending. False: it is refused. */
static bool claim_item(struct sqlite_side *side, struct sqlite_op *op, struct ask_row *row,
                       const struct claim_item *item)
{
    struct ask_record *ask = row->record;
    bool due = op->now >= ask->expires_ms;
    bool late = due && claim_is_word(item);

    if (item->again && row->won)
        return true; /* by this very claim, before */
    if ((item->attempt && item->attempt != ask->attempt) ||
        (item->outcome == ASK_EXPIRED && !item->again && !due))
        return false;
    if (item->again && !late) {
        put_again(side, op, row);
        return true;
    }
    ask->state = late ? ASK_EXPIRED : item->outcome;
    ask->content = late ? STR_NONE : item->content;
    ask->by = late ? STR("nod") : op->claim.by;
    ask->via = late ? STR("clock") : op->claim.via;
    ask->ended_ms = op->now;
    row->won = row->ends = true;
    return true;
}

static void ask_closed(struct sqlite_side *side, struct sqlite_op *op, const struct ask_row *row,
                       uint64_t took)
{
    buf_clear(&side->buf);
    if (!wrote(side, codec_write_answer(&side->codec, row->record, &side->buf)))
        return;
    struct query q = query(side, SQL_ASK_END);
    query_int(&q, row->record->state);
    query_text(&q, op->token);
    query_int(&q, (int64_t)took);
    query_int(&q, row->record->ended_ms);
    query_text(&q, row->record->via);
    query_blob(&q, fresh(side));
    query_int(&q, row->n);
    query_run(&q);
}

/* The call has so many pending asks less, and is perhaps taken: in this epoch, or 0. */
static uint64_t call_claimed(struct sqlite_side *side, struct sqlite_op *op, struct call_row *call,
                             struct str call_id, int64_t ended)
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
    query_idle(&q, call);
    query_int(&q, call->n);
    query_run(&q);
    return took;
}

/* Those that have just ended: in the journal, in their rows, and no longer counted. */
static int64_t claim_end(struct sqlite_side *side, struct sqlite_op *op, struct ask_row *rows,
                         struct call_row *call)
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
    if (ended)
        journal_add(side, call, rows[0].record->call_id, entries, ended);
    return (int64_t)ended;
}

static void claim_shown(struct sqlite_side *side, struct sqlite_op *op, const struct ask_row *rows,
                        const struct call_row *call, uint64_t took)
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
    struct call_row call = { 0 };
    bool refused = false, won = false, had = false;
    uint64_t took = 0;

    op->wake = STR_NONE;
    if (claim->count == 0)
        op->status = NOD_E_USAGE;
    if (!rows || claim->count == 0 || !claim_find(side, op, rows, &call, &took))
        return;
    if (claim_mixes(op, rows)) {
        op->status = NOD_E_STALE;
        claim_shown(side, op, rows, &call, 0);
        return;
    }
    for (size_t i = 0; i < claim->count; i++) {
        bool before = rows[i].won;
        if (rows[i].record->state == ASK_PENDING)
            refused |= !claim_item(side, op, &rows[i], &claim->items[i]);
        won |= rows[i].won;
        had |= rows[i].won && !before;
    }
    int64_t ended = claim_end(side, op, rows, &call);
    if (had && !side->error && !side->refused) {
        uint64_t taken = call_claimed(side, op, &call, rows[0].record->call_id, ended);
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

static bool node_alive(struct sqlite_side *side, struct str node, int64_t now)
{
    struct query q = query(side, SQL_NODE_ALIVE);

    query_text(&q, node);
    query_int(&q, now);
    bool alive = query_row(&q);
    query_end(&q);
    return alive;
}

void sqlite_take(struct sqlite_side *side, struct sqlite_op *op)
{
    struct call_row row;

    if (!call_find(side, op, op->id, &row)) {
        op->status = NOD_E_NOT_FOUND;
        return;
    }
    if (!str_eq(row.token, op->token)) {
        bool free = row.state == CALL_STORED_RUNNABLE ||
                    (row.state == CALL_STORED_RUNNING && !node_alive(side, row.node, op->now));
        if (!free) {
            op->status = NOD_E_STALE;
            return;
        }
        struct query q = query(side, SQL_CALL_MOVE);
        query_text(&q, op->token);
        query_text(&q, op->node);
        query_int(&q, row.n);
        query_run(&q);
    }
    op->reply.call = sqlite_read_call(side, op, op->id);
    if (op->reply.call) {
        op->reply.epoch = op->reply.call->epoch;
        op->reply.taken = true;
    }
}

/* --- finish, cancel --------------------------------------------------------------------------- */

static void erase_answer(struct sqlite_side *side, struct ask_record *ask, int64_t n)
{
    ask->content = STR_NONE;
    buf_clear(&side->buf);
    if (!wrote(side, codec_write_answer(&side->codec, ask, &side->buf)))
        return;
    struct query q = query(side, SQL_ASK_ERASE);
    query_blob(&q, fresh(side));
    query_int(&q, n);
    query_run(&q);
}

static void erase_answers(struct sqlite_side *side, struct sqlite_op *op,
                          const struct call_row *row)
{
    struct query q = query(side, SQL_ASKS_SENSITIVE);

    query_int(&q, row->n);
    while (query_row(&q)) {
        struct ask_record ask;
        if (sqlite_read_ask(&q, &op->arena, &ask))
            erase_answer(side, &ask, query_get_int(&q));
        else
            side->refused = NOD_OK; /* it was logged, and does not keep the call from ending */
    }
}

static bool entries_clear(struct entry *entries, size_t count)
{
    bool had = false;

    for (size_t i = 0; i < count; i++) {
        had |= entries[i].sensitive && entries[i].content.len;
        if (entries[i].sensitive)
            entries[i].content = STR_NONE;
    }
    return had;
}

static void erase_entries(struct sqlite_side *side, struct sqlite_op *op,
                          const struct call_row *row)
{
    struct query q = query(side, SQL_JOURNAL_PARTS);

    query_int(&q, row->n);
    while (query_row(&q)) {
        int64_t n = query_get_int(&q);
        struct str bytes = query_get_bytes(&q, &op->arena);
        struct entry *entries;
        size_t count;
        if (codec_read_entries(&side->codec, op->id, bytes, &op->arena, &entries, &count) !=
                NOD_OK ||
            !entries_clear(entries, count))
            continue;
        buf_clear(&side->buf);
        if (!wrote(side, codec_write_entries(&side->codec, row->scope, op->id, entries, count,
                                             &side->buf)))
            continue;
        struct query change = query(side, SQL_JOURNAL_REPLACE);
        query_blob(&change, fresh(side));
        query_int(&change, n);
        query_run(&change);
    }
}

static void call_close(struct sqlite_side *side, struct sqlite_op *op, const struct call_row *row,
                       enum call_state state)
{
    struct call_row kept = *row;
    int64_t until = op->now + side->store->keep_ms;

    row_keep(&kept, op);
    if (row->sensitive) { /* what was given in confidence is needed no longer */
        erase_answers(side, op, row);
        erase_entries(side, op, row);
    }
    if (row->pending) {
        side->moved_owner = row->owner;
        side->moved = -sqlite_quota_of_call(side, row->n);
        struct query q = query(side, SQL_ASKS_WITHDRAW);
        query_int(&q, op->now);
        query_int(&q, row->n);
        query_run(&q);
    }
    buf_clear(&side->buf);
    if (!wrote(side, codec_write_text(&side->codec, CODEC_RESULT, row->scope, op->id, op->content,
                                      &side->buf)))
        return;
    struct query q = query(side, SQL_CALL_END);
    query_int(&q, state);
    query_text(&q, op->token);
    query_blob(&q, fresh(side));
    query_int(&q, kept.keep_until_ms);
    query_int(&q, kept.handed);
    query_int(&q, kept.keep_until_ms > until ? kept.keep_until_ms : until);
    query_int(&q, row->n);
    query_run(&q);
}

static void event_add(struct sqlite_side *side, struct sqlite_op *op)
{
    const struct store_event *event = op->event;

    buf_clear(&side->buf);
    if (!wrote(side, codec_write_event(&side->codec, event, &side->buf)))
        return;
    struct query q = query(side, SQL_EVENT_ADD);
    query_blob(&q, event->stream);
    query_int(&q, (int64_t)event->seq);
    query_int(&q, op->now + event->ttl_ms);
    query_blob(&q, fresh(side));
    query_run(&q);
    if (event->seq <= LITE_STREAM_EVENTS)
        return; /* there are no more than that: they are numbered from 1 */
    q = query(side, SQL_EVENTS_TRIM);
    query_blob(&q, event->stream);
    query_int(&q, LITE_STREAM_EVENTS);
    query_run(&q);
}

static void end(struct sqlite_side *side, struct sqlite_op *op, enum call_state state)
{
    struct call_row row;

    if (!call_find(side, op, op->id, &row)) {
        op->status = NOD_E_NOT_FOUND;
        return;
    }
    if (str_eq(row.token, op->token))
        return;
    if (has_ended(&row) || (state == CALL_STORED_FINISHED && row.epoch != op->epoch)) {
        op->status = NOD_E_STALE;
        return;
    }
    call_close(side, op, &row, state);
    if (op->event)
        event_add(side, op);
}

void sqlite_finish(struct sqlite_side *side, struct sqlite_op *op)
{
    end(side, op, CALL_STORED_FINISHED);
}

void sqlite_cancel(struct sqlite_side *side, struct sqlite_op *op)
{
    end(side, op, CALL_STORED_CANCELLED);
}

/* --- small records, nodes --------------------------------------------------------------------- */

/* 0: there is none. */
static uint64_t small_version(struct sqlite_side *side, struct sqlite_op *op)
{
    struct query q = query(side, SQL_SMALL_FIND);
    uint64_t version = 0;

    query_blob(&q, op->kind);
    query_blob(&q, op->id);
    query_int(&q, op->now);
    if (query_row(&q))
        version = (uint64_t)query_get_int(&q);
    query_end(&q);
    return version;
}

enum { VERSION_STEP = 1024 };

/* Grows for ever, also past a restart after the newest record was removed: it follows the clock. */
static uint64_t version_next(struct sqlite_side *side, int64_t now)
{
    uint64_t by_clock = (uint64_t)(now > 0 ? now : 0) * VERSION_STEP;

    side->newest = by_clock > side->newest ? by_clock : side->newest + 1;
    return side->newest;
}

void sqlite_put(struct sqlite_side *side, struct sqlite_op *op)
{
    if (op->version && small_version(side, op) != op->version) {
        op->status = NOD_E_STALE;
        return;
    }
    buf_clear(&side->buf);
    if (!wrote(side, codec_write_text(&side->codec, CODEC_VALUE, op->kind, op->id, op->content,
                                      &side->buf)))
        return;
    op->reply.version = version_next(side, op->now);
    struct query q = query(side, SQL_SMALL_PUT);
    query_blob(&q, op->kind);
    query_blob(&q, op->id);
    query_int(&q, (int64_t)op->reply.version);
    if (op->ttl_ms > 0)
        query_int(&q, op->now + op->ttl_ms);
    else
        query_null(&q);
    query_blob(&q, fresh(side));
    query_run(&q);
}

void sqlite_del(struct sqlite_side *side, struct sqlite_op *op)
{
    if (!small_version(side, op)) {
        op->status = NOD_E_NOT_FOUND;
        return;
    }
    struct query q = query(side, SQL_SMALL_DEL);
    query_blob(&q, op->kind);
    query_blob(&q, op->id);
    query_run(&q);
}

void sqlite_beat(struct sqlite_side *side, struct sqlite_op *op)
{
    struct query q = query(side, SQL_NODE_BEAT);

    query_text(&q, op->node);
    query_int(&q, op->now + op->ttl_ms);
    query_run(&q);
}
