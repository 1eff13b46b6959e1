/*
 * store/sqlite: the transitions, on the writer's thread.
 *
 * Each runs inside the batch's transaction (sqlite_side.c), looks first and writes then. What it
 * may do and what it answers is said in core/store.h; an operation that finds its own token has
 * happened and changes nothing. It may be run twice, the first time undone.
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
    int64_t owner;  /* its principal, as sqlite_quota.c counts */
    bool sensitive; /* one of its questions is */
};

static void call_row_read(struct query *q, struct arena *arena, struct call_row *row)
{
    row->n = query_get_int(q);
    row->state = (enum call_state)query_get_int(q);
    row->epoch = (uint64_t)query_get_int(q);
    row->pending = query_get_int(q);
    row->token = query_get_bytes(q, arena);
    row->keep_ms = query_get_int(q);
    row->scope = query_get_bytes(q, arena);
    row->node = query_get_bytes(q, arena);
    row->drop_ms = query_get_int(q);
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

int64_t sqlite_call_drop(struct sqlite_side *side, int64_t n, int64_t pending)
{
    int64_t counted = pending ? sqlite_quota_of_call(side, n) : 0;

    drop_by_number(side, SQL_ASKS_DROP, n);
    drop_by_number(side, SQL_JOURNAL_DROP, n);
    drop_by_number(side, SQL_CALL_DROP, n);
    return counted;
}

/* --- park, append ----------------------------------------------------------------------------- */

static void query_drop_ms(struct query *q, int64_t drop_ms)
{
    if (drop_ms)
        query_int(q, drop_ms);
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
    query_int(&q, op->keep_for_ms);
    query_int(&q, op->now);
    query_int(&q, row->owner);
    query_int(&q, op->handed);
    query_int(&q, row->sensitive);
    query_int(&q, row->state);
    query_int(&q, row->pending);
    query_text(&q, op->token);
    query_int(&q, op->notices);
    query_text(&q, op->node);
    query_drop_ms(&q, row->drop_ms);
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
    query_drop_ms(&q, row->drop_ms);
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
    const struct call_record *call = sqlite_read_call(side, op, op->id);
    if (!call || call->entry_count >= op->entry_count)
        return false;
    side->moved -= sqlite_call_drop(side, row->n, row->pending);
    return true;
}

/* The call as this operation leaves it: waiting for its questions, runnable, or running on. */
static void row_set(struct sqlite_side *side, struct sqlite_op *op, struct call_row *row)
{
    int64_t latest = asks_set_times(op);

    row->pending += (int64_t)op->ask_count;
    for (size_t i = 0; i < op->ask_count; i++)
        row->sensitive |= op->asks[i].sensitive;
    for (size_t i = 0; i < op->entry_count; i++)
        row->sensitive |= op->entries[i].sensitive;
    if (op->verb->run != sqlite_park) {
        row->state = CALL_STORED_RUNNING;
        row->drop_ms = 0;
        return;
    }
    row->state = row->pending ? CALL_STORED_WAITING : CALL_STORED_RUNNABLE;
    row->drop_ms = (latest > op->now ? latest : op->now) + keep_of(side, row->keep_ms);
    if (!row->pending)
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
    return op->new_asks == 0 || sqlite_quota_room(side, owner, (int64_t)op->new_asks, op->now);
}

/* False: it is stored already, or something failed. */
static bool open_call(struct sqlite_side *side, struct sqlite_op *op)
{
    struct call_row row = { .epoch = 1,
                            .keep_ms = op->keep_for_ms,
                            .scope = op->open->scope,
                            .owner = sqlite_quota_owner(op->open->principal) };

    if (!room_for_asks(side, op, row.owner)) {
        struct call_row found;
        if (call_find(side, op, op->id, &found))
            return false; /* perhaps by this very operation */
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
    if (drop_behind(side, op, &row)) {
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
    struct str token;
    uint64_t took;
    struct call_row call;
};

static bool ask_find(struct sqlite_side *side, struct sqlite_op *op, struct ask_row *row)
{
    struct query q = query(side, SQL_ASK_CLAIM);

    row->record = ARENA_NEW(&op->arena, struct ask_record);
    query_text(&q, op->id);
    bool found = query_row(&q) && row->record;
    if (found && sqlite_read_ask(&q, &op->arena, row->record)) {
        row->n = query_get_int(&q);
        row->token = query_get_bytes(&q, &op->arena);
        row->took = (uint64_t)query_get_int(&q);
        call_row_read(&q, &op->arena, &row->call);
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

static void ask_closed(struct sqlite_side *side, struct sqlite_op *op, const struct ask_row *row)
{
    buf_clear(&side->buf);
    if (!wrote(side, codec_write_answer(&side->codec, row->record, &side->buf)))
        return;
    struct query q = query(side, SQL_ASK_END);
    query_int(&q, row->record->state);
    query_text(&q, op->token);
    query_int(&q, (int64_t)row->took);
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

    if (op->outcome == ASK_EXPIRED && !due) {
        op->status = NOD_E_STALE;
        return;
    }
    ask_close(op, ask->record, due);
    struct entry entry = codec_entry_of(ask->record);
    journal_add(side, &ask->call, ask->record->call_id, &entry, 1);
    call_claimed(side, op, &ask->call, ask);
    ask_closed(side, op, ask);
    ask->token = op->token;
    side->moved_owner = ask->call.owner;
    side->moved = sqlite_quota_counts(side, ask->record->expires_ms) ? -1 : 0;
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
    struct claimed *claimed = ARENA_NEW(&op->arena, struct claimed);
    op->reply.ask = ask.record;
    op->reply.won = str_eq(ask.token, op->token);
    if (claimed)
        *claimed = (struct claimed){ op->reply.ask, op->reply.won };
    op->reply.claimed = claimed;
    op->reply.claimed_count = claimed ? 1 : 0;
    op->reply.taken = op->reply.won && ask.took != 0;
    if (op->reply.taken) {
        op->reply.epoch = ask.took;
        op->reply.call = sqlite_read_call_number(side, op, ask.call.n);
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
