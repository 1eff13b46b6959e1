/*
 * store/sqlite: the transitions, on the writer's thread.
 *
 * Each runs inside a savepoint of the batch's transaction (sqlite_side.c), looks first and writes
 * then. What it may do and what it answers is said in core/store.h; an operation that finds its own
 * token has happened and changes nothing.
 *
 * Holds always: calls.pending is the number of the call's pending asks. Every call but a running
 * one has a drop_ms, after which nobody is expected to come for it, and it is removed.
 */
#include "store/sqlite_inside.h"

struct call_row {
    int64_t n;
    enum call_state state;
    uint64_t epoch;
    int64_t pending;
    struct str token;
    int64_t keep_ms;
    struct str scope;
    struct str node;
    int64_t drop_ms;
};

static bool call_find(struct sqlite_side *side, struct sqlite_op *op, struct str id,
                      struct call_row *row)
{
    struct query q = query(side, SQL_CALL_FIND);

    query_text(&q, id);
    bool found = query_row(&q);
    if (found) {
        row->n = query_get_int(&q);
        row->state = (enum call_state)query_get_int(&q);
        row->epoch = (uint64_t)query_get_int(&q);
        row->pending = query_get_int(&q);
        row->token = query_get_bytes(&q, &op->arena);
        row->keep_ms = query_get_int(&q);
        row->scope = query_get_bytes(&q, &op->arena);
        row->node = query_get_bytes(&q, &op->arena);
        row->drop_ms = query_get_int(&q);
    }
    query_end(&q);
    return found;
}

static bool has_ended(const struct call_row *row)
{
    return row->state == CALL_STORED_FINISHED || row->state == CALL_STORED_CANCELLED;
}

static int64_t keep_of(const struct sqlite_side *side, int64_t keep_ms)
{
    return keep_ms > 0 ? keep_ms : side->store->keep_ms;
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

static void call_drop(struct sqlite_side *side, int64_t n)
{
    drop_by_number(side, SQL_ASKS_DROP, n);
    drop_by_number(side, SQL_JOURNAL_DROP, n);
    drop_by_number(side, SQL_CALL_DROP, n);
}

/* --- park, append ----------------------------------------------------------------------------- */

static void query_drop_ms(struct query *q, int64_t drop_ms)
{
    if (drop_ms)
        query_int(q, drop_ms);
    else
        query_null(q);
}

static bool call_add(struct sqlite_side *side, struct sqlite_op *op, struct call_row *row)
{
    const struct call_record *open = op->open;

    buf_clear(&side->buf);
    if (!wrote(side, codec_write_call(&side->codec, open, &side->buf)))
        return false;
    struct query q = query(side, SQL_CALL_ADD);
    query_text(&q, op->id);
    query_blob(&q, open->scope);
    query_blob(&q, fresh(side));
    query_int(&q, open->keep_ms);
    query_int(&q, op->now);
    query_int(&q, row->state);
    query_int(&q, row->pending);
    query_text(&q, op->token);
    query_int(&q, op->notices);
    query_text(&q, op->node);
    query_drop_ms(&q, row->drop_ms);
    if (!query_run(&q))
        return false;
    row->n = sqlite3_last_insert_rowid(side->db);
    return true;
}

static bool call_parked(struct sqlite_side *side, struct sqlite_op *op, const struct call_row *row)
{
    struct query q = query(side, SQL_CALL_PARK);

    query_int(&q, row->state);
    query_int(&q, row->pending);
    query_text(&q, op->token);
    query_int(&q, op->notices);
    query_text(&q, op->node);
    query_drop_ms(&q, row->drop_ms);
    query_int(&q, row->n);
    return query_run(&q);
}

/* The number of the row, or 0. */
static int64_t journal_add(struct sqlite_side *side, const struct call_row *row, struct str call_id,
                           const struct entry *entries, size_t count)
{
    buf_clear(&side->buf);
    if (!wrote(side,
               codec_write_entries(&side->codec, row->scope, call_id, entries, count, &side->buf)))
        return 0;
    struct query q = query(side, SQL_JOURNAL_ADD);
    query_int(&q, row->n);
    query_blob(&q, fresh(side));
    return query_run(&q) ? sqlite3_last_insert_rowid(side->db) : 0;
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
    query_blob(&q, fresh(side));
    query_run(&q);
}

static int64_t asks_set_times(struct sqlite_op *op)
{
    int64_t latest = 0;

    for (size_t i = 0; i < op->ask_count; i++) {
        struct ask_record *ask = &op->asks[i];
        if (!ask->asked_ms)
            ask->asked_ms = op->now;
        if (!ask->expires_ms)
            ask->expires_ms = ask->asked_ms + ask->ttl_ms;
        if (ask->expires_ms > latest)
            latest = ask->expires_ms;
    }
    return latest;
}

/* A call that waits here and has gone on elsewhere gives way to what its client has brought. */
static bool drop_behind(struct sqlite_side *side, struct sqlite_op *op, const struct call_row *row)
{
    if (!op->open || row->state != CALL_STORED_WAITING || op->entry_count == 0 ||
        op->verb->run != sqlite_park)
        return false;
    const struct call_record *call = sqlite_read_call(side, op, op->id, true);
    if (!call || call->entry_count >= op->entry_count)
        return false;
    call_drop(side, row->n);
    return true;
}

/* Finds the call, or says that it is to be opened. False: the operation ends here. */
static bool running_call(struct sqlite_side *side, struct sqlite_op *op, struct call_row *row,
                         bool *opens)
{
    bool found = call_find(side, op, op->id, row);

    *opens = false;
    if (found && str_eq(row->token, op->token))
        return false; /* this very operation has happened */
    if (found && drop_behind(side, op, row))
        found = false;
    if (!found && op->open) {
        *row =
            (struct call_row){ .epoch = 1, .keep_ms = op->open->keep_ms, .scope = op->open->scope };
        *opens = true;
        return true;
    }
    if (!found)
        op->status = NOD_E_NOT_FOUND;
    else if (op->open || row->epoch != op->epoch || row->state != CALL_STORED_RUNNING)
        op->status = NOD_E_STALE; /* with `open`: it is here already */
    return op->status == NOD_OK;
}

static void save(struct sqlite_side *side, struct sqlite_op *op, const struct call_row *found,
                 bool opens)
{
    struct call_row row = *found;

    if (!(opens ? call_add(side, op, &row) : call_parked(side, op, &row)))
        return;
    if (op->entry_count)
        journal_add(side, &row, op->id, op->entries, op->entry_count);
    for (size_t i = 0; i < op->ask_count; i++)
        ask_add(side, &row, &op->asks[i]);
}

void sqlite_park(struct sqlite_side *side, struct sqlite_op *op)
{
    struct call_row row;
    bool opens;

    if (!running_call(side, op, &row, &opens))
        return;
    int64_t latest = asks_set_times(op);
    row.pending += (int64_t)op->ask_count;
    row.state = row.pending ? CALL_STORED_WAITING : CALL_STORED_RUNNABLE;
    row.drop_ms = (latest > op->now ? latest : op->now) + keep_of(side, row.keep_ms);
    if (!row.pending)
        op->wake = op->id;
    save(side, op, &row, opens);
}

void sqlite_append(struct sqlite_side *side, struct sqlite_op *op)
{
    struct call_row row;
    bool opens;

    if (!running_call(side, op, &row, &opens))
        return;
    row.state = CALL_STORED_RUNNING;
    row.drop_ms = 0;
    save(side, op, &row, opens);
}

/* --- claim, take ------------------------------------------------------------------------------ */

struct ask_row {
    struct ask_record *record;
    int64_t n;
    struct str token;
    uint64_t took;
};

static bool ask_find(struct sqlite_side *side, struct sqlite_op *op, struct ask_row *row)
{
    struct query q = query(side, SQL_ASK_FIND);

    row->record = ARENA_NEW(&op->arena, struct ask_record);
    query_text(&q, op->id);
    bool found = query_row(&q) && row->record;
    if (found && sqlite_read_ask(&q, &op->arena, row->record)) {
        row->n = query_get_int(&q);
        query_get_int(&q); /* its call's number */
        row->token = query_get_bytes(&q, &op->arena);
        row->took = (uint64_t)query_get_int(&q);
    }
    query_end(&q);
    return found;
}

static void ask_close(struct sqlite_op *op, struct ask_record *ask, bool due)
{
    bool persons_word = op->outcome == ASK_ACCEPTED || op->outcome == ASK_DECLINED ||
                        op->outcome == ASK_CANCELLED || op->outcome == ASK_INVALID;
    bool late = persons_word && due;

    ask->state = late ? ASK_EXPIRED : op->outcome;
    ask->content = late ? STR_NONE : op->content;
    ask->by = late ? STR("nod") : op->by;
    ask->ended_ms = op->now;
}

static void ask_closed(struct sqlite_side *side, struct sqlite_op *op, const struct ask_row *row,
                       int64_t entry)
{
    buf_clear(&side->buf);
    if (!wrote(side, codec_write_answer(&side->codec, row->record, &side->buf)))
        return;
    struct query q = query(side, SQL_ASK_END);
    query_int(&q, row->record->state);
    query_text(&q, op->token);
    query_int(&q, (int64_t)row->took);
    query_int(&q, entry);
    query_int(&q, row->record->ended_ms);
    query_blob(&q, fresh(side));
    query_int(&q, row->n);
    query_run(&q);
}

/* The call has one pending ask less, and is perhaps taken. */
static void call_claimed(struct sqlite_side *side, struct sqlite_op *op, struct call_row *call,
                         struct ask_row *ask)
{
    if (call->pending > 0)
        call->pending--;
    if (call->pending == 0 && call->state == CALL_STORED_WAITING) {
        call->state = op->node.len ? CALL_STORED_RUNNING : CALL_STORED_RUNNABLE;
        if (op->node.len) {
            ask->took = ++call->epoch;
            call->node = op->node;
            call->drop_ms = 0;
        } else {
            call->drop_ms = op->now + keep_of(side, call->keep_ms);
            op->wake = ask->record->call_id;
        }
    }
    struct query q = query(side, SQL_CALL_CLAIMED);
    query_int(&q, call->state);
    query_int(&q, (int64_t)call->epoch);
    query_int(&q, call->pending);
    query_text(&q, call->node);
    query_drop_ms(&q, call->drop_ms);
    query_int(&q, call->n);
    query_run(&q);
}

static void claim_now(struct sqlite_side *side, struct sqlite_op *op, struct ask_row *ask)
{
    bool due = op->now >= ask->record->expires_ms;
    struct call_row call;

    if (op->outcome == ASK_EXPIRED && !due) {
        op->status = NOD_E_STALE;
        return;
    }
    if (!call_find(side, op, ask->record->call_id, &call)) {
        op->status = NOD_E_NOT_FOUND;
        return;
    }
    ask_close(op, ask->record, due);
    struct entry entry = codec_entry_of(ask->record);
    int64_t n = journal_add(side, &call, ask->record->call_id, &entry, 1);
    call_claimed(side, op, &call, ask);
    ask_closed(side, op, ask, n);
    ask->token = op->token;
}

void sqlite_claim(struct sqlite_side *side, struct sqlite_op *op)
{
    struct ask_row ask = { 0 };

    if (!ask_find(side, op, &ask)) {
        op->status = NOD_E_NOT_FOUND;
        return;
    }
    if (side->error || side->refused)
        return;
    if (ask.record->state == ASK_PENDING)
        claim_now(side, op, &ask);
    if (op->status != NOD_OK || side->error || side->refused)
        return;
    op->reply.ask = ask.record;
    op->reply.won = str_eq(ask.token, op->token);
    op->reply.taken = op->reply.won && ask.took != 0;
    if (op->reply.taken) {
        op->reply.epoch = ask.took;
        op->reply.call = sqlite_read_call(side, op, ask.record->call_id, true);
    }
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
    op->reply.call = sqlite_read_call(side, op, op->id, true);
    if (op->reply.call) {
        op->reply.epoch = op->reply.call->epoch;
        op->reply.taken = true;
    }
}

/* --- finish, cancel --------------------------------------------------------------------------- */

static void erase_answer(struct sqlite_side *side, const struct call_row *row,
                         struct ask_record *ask, int64_t n, int64_t journal_n)
{
    ask->content = STR_NONE;
    buf_clear(&side->buf);
    if (!wrote(side, codec_write_answer(&side->codec, ask, &side->buf)))
        return;
    struct query q = query(side, SQL_ASK_ERASE);
    query_blob(&q, fresh(side));
    query_int(&q, n);
    query_run(&q);

    struct entry entry = codec_entry_of(ask);
    buf_clear(&side->buf);
    if (!wrote(side,
               codec_write_entries(&side->codec, row->scope, ask->call_id, &entry, 1, &side->buf)))
        return;
    q = query(side, SQL_JOURNAL_REPLACE);
    query_blob(&q, fresh(side));
    query_int(&q, journal_n);
    query_run(&q);
}

/* What was given in confidence is needed no longer: it goes, from the journal too. */
static void erase_sensitive(struct sqlite_side *side, struct sqlite_op *op,
                            const struct call_row *row)
{
    struct query q = query(side, SQL_ASKS_SENSITIVE);

    query_int(&q, row->n);
    while (query_row(&q)) {
        struct ask_record ask;
        if (!sqlite_read_ask(&q, &op->arena, &ask)) {
            side->refused = NOD_OK; /* it was logged, and does not keep the call from ending */
            continue;
        }
        int64_t n = query_get_int(&q);
        erase_answer(side, row, &ask, n, query_get_int(&q));
    }
}

static void call_close(struct sqlite_side *side, struct sqlite_op *op, const struct call_row *row,
                       enum call_state state)
{
    erase_sensitive(side, op, row);
    if (row->pending) {
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
    query_int(&q, op->now + keep_of(side, row->keep_ms));
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
    query_drop_ms(&q, op->ttl_ms > 0 ? op->now + op->ttl_ms : 0);
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

/* --- what is over ----------------------------------------------------------------------------- */

static size_t sweep_calls(struct sqlite_side *side)
{
    int64_t over[LITE_SWEEP_CALLS];
    size_t count = 0;
    struct query q = query(side, SQL_CALLS_OVER);

    query_int(&q, side->now);
    query_int(&q, LITE_SWEEP_CALLS);
    while (count < LITE_SWEEP_CALLS && query_row(&q))
        over[count++] = query_get_int(&q);
    query_end(&q);
    for (size_t i = 0; i < count; i++)
        call_drop(side, over[i]);
    return count;
}

static bool sweep_rows(struct sqlite_side *side, enum sql statement)
{
    struct query q = query(side, statement);

    query_int(&q, side->now);
    query_int(&q, LITE_SWEEP_ROWS);
    return query_run(&q) && sqlite3_changes(side->db) == LITE_SWEEP_ROWS;
}

void sqlite_sweep(struct sqlite_side *side)
{
    bool more = sweep_calls(side) == LITE_SWEEP_CALLS;

    more |= sweep_rows(side, SQL_EVENTS_SWEEP);
    more |= sweep_rows(side, SQL_SMALL_SWEEP);
    drop_by_number(side, SQL_NODES_SWEEP, side->now);
    side->sweep_on = more;
    side->swept_ms = side->now;
}
