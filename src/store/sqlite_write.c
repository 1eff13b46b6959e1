/*
 * store/sqlite: the transitions of calls, on the writer's thread.
 *
 * Each runs inside the batch's transaction (sqlite_side.c), and checks before it writes.
 * core/store.h says what it may do and what it answers. An operation that finds its own token has
 * happened before, and changes nothing. An operation may be run twice, after the first run was
 * undone.
 *
 * Holds always: calls.pending is the number of the call's pending asks. A call that has ended has a
 * drop_ms, after which it is removed. A runnable call has an idle_ms: the time in use when it
 * became runnable (sqlite_sweep.c).
 */
#include "store/sqlite_inside.h"

void sqlite_row_read(struct query *q, struct arena *arena, struct sqlite_call_row *row)
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
    row->deaths = deaths_unpack((uint64_t)query_get_int(q));
    row->bytes = query_get_int(q);
    row->spare = query_get_int(q);
    row->whole = query_get_int(q);
}

/* False: there is no such call, and op->status says so. */
static bool call_find(struct sqlite_side *side, struct sqlite_op *op, struct sqlite_call_row *row)
{
    struct query q = query(side, SQL_CALL_FIND);

    query_text(&q, op->id);
    bool found = query_row(&q);
    if (found)
        sqlite_row_read(&q, &op->arena, row);
    else
        op->status = NOD_E_NOT_FOUND;
    query_end(&q);
    return found;
}

static bool has_ended(const struct sqlite_call_row *row)
{
    return row->state == CALL_STORED_FINISHED || row->state == CALL_STORED_CANCELLED;
}

/* What could bring the call back lives so much longer. */
static void row_keep(struct sqlite_call_row *row, const struct sqlite_op *op)
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

/* False: the record is too large, which is the operation's fault and no failure of the store. */
bool sqlite_wrote(struct sqlite_side *side, nod_status status)
{
    if (status != NOD_OK)
        side->refused = status;
    return status == NOD_OK;
}

struct buf *sqlite_blank(struct sqlite_side *side)
{
    buf_clear(&side->buf);
    return &side->buf;
}

struct str sqlite_fresh(struct sqlite_side *side)
{
    return buf_str(&side->buf);
}

void sqlite_call_empty(struct sqlite_side *side, int64_t n)
{
    query_run_int(side, SQL_ASKS_DROP, n);
    query_run_int(side, SQL_JOURNAL_DROP, n);
}

int64_t sqlite_call_drop(struct sqlite_side *side, int64_t n, int64_t pending)
{
    int64_t counted = pending ? sqlite_quota_of_call(side, n) : 0;

    sqlite_call_empty(side, n);
    query_run_int(side, SQL_CALL_DROP, n);
    return counted;
}

/* --- park, append --- */

/* What the operation adds to the bytes of its call. */
static int64_t bytes_of(const struct sqlite_op *op)
{
    return kept_park(op->open, op->entries, op->entry_count, op->asks, op->ask_count);
}

/* What both an open and a park write. */
static void bind_parked(struct query *q, const struct sqlite_op *op,
                        const struct sqlite_call_row *row)
{
    query_int(q, row->sensitive);
    query_int(q, row->state);
    query_int(q, row->pending);
    query_text(q, op->token);
    query_int(q, op->notices);
    query_text(q, op->node);
    query_int(q, row->keep_until_ms);
    query_int(q, row->handed);
    query_int_or_null(q, row->state == CALL_STORED_RUNNABLE, row->idle_ms);
}

/* False, with row->n 0 and no error: the call is stored already. */
static bool lite_call_add(struct sqlite_side *side, struct sqlite_op *op,
                          struct sqlite_call_row *row)
{
    const struct call_record *open = op->open;

    row->n = 0;
    if (!sqlite_wrote(side, codec_write_call(&side->codec, open, sqlite_blank(side))))
        return false;
    struct query q = query(side, SQL_CALL_ADD);
    query_text(&q, op->id);
    query_blob(&q, open->scope);
    query_blob(&q, sqlite_fresh(side));
    query_int(&q, op->now);
    query_int(&q, row->owner);
    bind_parked(&q, op, row);
    query_int(&q, bytes_of(op));
    if (!query_run(&q) || sqlite3_changes(side->db) == 0)
        return false;
    row->n = sqlite3_last_insert_rowid(side->db);
    return true;
}

static bool call_parked(struct sqlite_side *side, struct sqlite_op *op,
                        const struct sqlite_call_row *row)
{
    struct query q = query(side, SQL_CALL_PARK);

    bind_parked(&q, op, row);
    query_int(&q, (int64_t)deaths_pack(&row->deaths));
    query_int(&q, bytes_of(op));
    query_int(&q, row->n);
    return query_run(&q);
}

void sqlite_journal_add(struct sqlite_side *side, const struct sqlite_call_row *row,
                        struct str call_id, const struct entry *entries, size_t count)
{
    if (!sqlite_wrote(side, codec_write_entries(&side->codec, row->scope, call_id, entries, count,
                                                sqlite_blank(side))))
        return;
    struct query q = query(side, SQL_JOURNAL_ADD);
    query_int(&q, row->n);
    query_blob(&q, sqlite_fresh(side));
    query_run(&q);
}

static void lite_ask_add(struct sqlite_side *side, const struct sqlite_call_row *row,
                         struct ask_record *ask)
{
    ask->scope = row->scope;
    if (!sqlite_wrote(side, codec_write_ask(&side->codec, ask, sqlite_blank(side))))
        return;
    struct query q = query(side, SQL_ASK_ADD);
    query_text(&q, ask->id);
    query_int(&q, row->n);
    query_int(&q, row->owner);
    query_int(&q, ask->sensitive);
    query_int(&q, ask->asked_ms);
    query_int(&q, ask->expires_ms);
    query_int(&q, ask->attempt);
    query_blob(&q, sqlite_fresh(side));
    query_run(&q);
}

/* A call that waits here but has gone on elsewhere is replaced by what its client has brought. */
static bool lite_is_behind(struct sqlite_side *side, struct sqlite_op *op,
                           const struct sqlite_call_row *row)
{
    if (!op->open || row->state != CALL_STORED_WAITING || op->entry_count == 0 || !op->parks)
        return false;
    const struct call_record *call = sqlite_read_call(side, op, op->id);
    return call && call->entry_count < op->entry_count;
}

/* The call as this operation leaves it: waiting for its questions, runnable, or running on. */
static void row_set(struct sqlite_side *side, struct sqlite_op *op, struct sqlite_call_row *row)
{
    for (size_t i = 0; i < op->ask_count; i++) {
        struct ask_record *ask = &op->asks[i];
        if (!ask->asked_ms)
            ask->asked_ms = op->now;
        if (!ask->expires_ms)
            ask->expires_ms = ask->asked_ms + ask->ttl_ms;
    }
    row_keep(row, op);
    row->pending += (int64_t)op->ask_count;
    for (size_t i = 0; i < op->ask_count; i++)
        row->sensitive |= op->asks[i].sensitive;
    for (size_t i = 0; i < op->entry_count; i++)
        row->sensitive |= op->entries[i].sensitive;
    if (op->entry_count || op->ask_count)
        row->deaths = (struct deaths){ 0 };
    if (!op->parks) {
        row->state = row->pending ? CALL_STORED_WAITING : CALL_STORED_RUNNING;
        return;
    }
    row->state = row->pending ? CALL_STORED_WAITING : CALL_STORED_RUNNABLE;
    if (row->pending)
        return;
    row->idle_ms = sqlite_used(side);
    op->wake = op->id;
}

static void add_parts(struct sqlite_side *side, struct sqlite_op *op,
                      const struct sqlite_call_row *row)
{
    if (op->entry_count)
        sqlite_journal_add(side, row, op->id, op->entries, op->entry_count);
    side->moved_owner = row->owner;
    side->moved_bytes += bytes_of(op);
    for (size_t i = 0; i < op->ask_count; i++) {
        lite_ask_add(side, row, &op->asks[i]);
        side->moved += sqlite_quota_counts(side, op->asks[i].expires_ms);
    }
}

static void quota_said(struct sqlite_side *side, struct sqlite_op *op, enum store_quota quota)
{
    const struct sqlite_store *store = side->store;
    const int64_t most[] = { [STORE_QUOTA_NONE] = 0,
                             [STORE_QUOTA_ALL] = store->pending_most,
                             [STORE_QUOTA_PRINCIPAL] = store->pending_most_each,
                             [STORE_QUOTA_BYTES_ALL] = store->kept_most,
                             [STORE_QUOTA_BYTES_PRINCIPAL] = store->kept_most_each };

    op->reply.quota = quota;
    op->reply.quota_most = (uint64_t)most[quota];
}

/* Questions that come back with their call are not counted again. */
static bool room_for(struct sqlite_side *side, struct sqlite_op *op, int64_t owner, bool behind)
{
    enum store_quota quota = op->new_asks
                                 ? sqlite_quota_full(side, owner, (int64_t)op->new_asks, op->now)
                                 : STORE_QUOTA_NONE;

    if (!quota && !behind &&
        kept_is_new(op->open != NULL, op->entry_count, op->ask_count, op->new_asks))
        quota = sqlite_quota_bytes_full(side, owner, bytes_of(op));
    quota_said(side, op, quota);
    return quota == STORE_QUOTA_NONE;
}

/* False: the call is stored already, or something failed. */
static bool open_call(struct sqlite_side *side, struct sqlite_op *op, bool behind)
{
    struct sqlite_call_row row = { .epoch = 1,
                                   .scope = op->open->scope,
                                   .owner = sqlite_quota_owner(op->open->principal) };

    if (!room_for(side, op, row.owner, behind)) {
        struct sqlite_call_row found;
        if (call_find(side, op, &found)) {
            op->reply.quota = STORE_QUOTA_NONE;
            op->reply.quota_most = 0;
            return false; /* it may have been stored by this very operation */
        }
        op->status = NOD_E_LIMIT;
        return true;
    }
    row_set(side, op, &row);
    if (!lite_call_add(side, op, &row))
        return side->error || side->refused;
    add_parts(side, op, &row);
    return true;
}

/* A call that was stored before. */
static void lite_save_call(struct sqlite_side *side, struct sqlite_op *op)
{
    struct sqlite_call_row row;

    op->wake = STR_NONE;
    if (!call_find(side, op, &row))
        return;
    if (str_eq(row.token, op->token))
        return; /* this very operation has happened already */
    if (lite_is_behind(side, op, &row)) {
        if (!room_for(side, op, row.owner, true)) {
            op->status = NOD_E_LIMIT; /* the call that waits is not replaced */
            return;
        }
        side->moved -= sqlite_call_drop(side, row.n, row.pending);
        side->moved_bytes -= row.bytes;
        open_call(side, op, true);
        return;
    }
    if (op->open || row.epoch != op->epoch ||
        (row.state != CALL_STORED_RUNNING && row.state != CALL_STORED_WAITING)) {
        op->status = NOD_E_STALE; /* with `open`: the call is stored already */
        return;
    }
    if (!room_for(side, op, row.owner, false)) {
        op->status = NOD_E_LIMIT;
        return;
    }
    row_set(side, op, &row);
    if (call_parked(side, op, &row))
        add_parts(side, op, &row);
}

void sqlite_save(struct sqlite_side *side, struct sqlite_op *op)
{
    if (!op->open || !open_call(side, op, false))
        lite_save_call(side, op);
}

/* The run is no longer on probation. */
void sqlite_clear(struct sqlite_side *side, struct sqlite_op *op)
{
    struct sqlite_call_row row;

    if (!call_find(side, op, &row))
        return;
    if (row.epoch != op->epoch || row.state != CALL_STORED_RUNNING) {
        op->status = NOD_E_STALE;
        return;
    }
    row.deaths.probation = false;
    struct query q = query(side, SQL_CALL_CLEAR);
    query_int(&q, (int64_t)deaths_pack(&row.deaths));
    query_int(&q, row.n);
    query_run(&q);
}

/* --- take --- */

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
    struct sqlite_call_row row;

    if (!call_find(side, op, &row))
        return;
    if (!str_eq(row.token, op->token)) {
        bool gone = row.state == CALL_STORED_RUNNING && !node_alive(side, row.node, op->now);
        bool given_back = row.state == CALL_STORED_RUNNABLE && row.deaths.probation;
        op->reply.suspect = op->why == TAKE_PLAIN && (gone || given_back);
        if (op->reply.suspect || !(gone || row.state == CALL_STORED_RUNNABLE)) {
            op->status = NOD_E_STALE;
            return;
        }
        row.deaths = deaths_taken(row.deaths, op->why, gone, op->now);
        struct query q = query(side, SQL_CALL_MOVE);
        query_text(&q, op->token);
        query_text(&q, op->node);
        query_int(&q, (int64_t)deaths_pack(&row.deaths));
        query_int(&q, row.n);
        query_run(&q);
    }
    op->reply.call = sqlite_read_call(side, op, op->id);
    if (op->reply.call) {
        op->reply.epoch = op->reply.call->epoch;
        op->reply.taken = true;
    }
}

/* --- finish, cancel --- */

static void erase_answers(struct sqlite_side *side, struct sqlite_op *op,
                          const struct sqlite_call_row *row)
{
    struct query q = query(side, SQL_ASKS_SENSITIVE);

    query_int(&q, row->n);
    while (query_row(&q)) {
        struct ask_record ask;
        if (!sqlite_read_ask(&q, &op->arena, &ask)) {
            side->refused = NOD_OK; /* it was logged, and does not keep the call from ending */
            continue;
        }
        ask.content = STR_NONE;
        if (!sqlite_wrote(side, codec_write_answer(&side->codec, &ask, sqlite_blank(side))))
            continue;
        struct query change = query(side, SQL_ASK_ERASE);
        query_blob(&change, sqlite_fresh(side));
        query_int(&change, query_get_int(&q));
        query_run(&change);
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
                          const struct sqlite_call_row *row)
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
        if (!sqlite_wrote(side, codec_write_entries(&side->codec, row->scope, op->id, entries,
                                                    count, sqlite_blank(side))))
            continue;
        struct query change = query(side, SQL_JOURNAL_REPLACE);
        query_blob(&change, sqlite_fresh(side));
        query_int(&change, n);
        query_run(&change);
    }
}

/* For a watcher of the asks. */
static void note_withdrawn(struct sqlite_side *side, struct sqlite_op *op,
                           const struct sqlite_call_row *row)
{
    struct query q = query(side, SQL_ASKS_WAITING);

    op->owner = row->owner;
    op->withdrawn_count = 0;
    op->withdrawn = arena_alloc(&op->arena, (size_t)row->pending * sizeof(*op->withdrawn));
    query_int(&q, row->n);
    while (op->withdrawn && op->withdrawn_count < (size_t)row->pending && query_row(&q))
        op->withdrawn[op->withdrawn_count++] = query_get_bytes(&q, &op->arena);
    query_end(&q);
}

static void lite_call_close(struct sqlite_side *side, struct sqlite_op *op,
                            const struct sqlite_call_row *row)
{
    struct sqlite_call_row kept = *row;
    int64_t until = op->now + side->store->keep_ms;
    int64_t more = (int64_t)op->content.len;
    bool fetched =
        op->fetched || op->state == CALL_STORED_CANCELLED; /* that has no result to fetch */

    row_keep(&kept, op);
    if (row->sensitive) { /* sensitive content is no longer needed */
        erase_answers(side, op, row);
        erase_entries(side, op, row);
    }
    if (row->pending) {
        note_withdrawn(side, op, row);
        side->moved = -sqlite_quota_of_call(side, row->n);
        struct query q = query(side, SQL_ASKS_WITHDRAW);
        query_int(&q, op->now);
        query_int(&q, row->n);
        query_run(&q);
    }
    if (!sqlite_wrote(side, codec_write_text(&side->codec, CODEC_RESULT, row->scope, op->id,
                                             op->content, sqlite_blank(side))))
        return;
    struct query q = query(side, SQL_CALL_END);
    query_int(&q, op->state);
    query_text(&q, op->token);
    query_blob(&q, sqlite_fresh(side));
    query_int(&q, kept.keep_until_ms);
    query_int(&q, kept.handed);
    query_int(&q, kept.keep_until_ms > until ? kept.keep_until_ms : until);
    query_int(&q, more);
    query_int_or_null(&q, fetched, op->now);
    query_int(&q, row->n);
    query_run(&q);
    side->moved_owner = row->owner;
    side->moved_bytes = more;
    side->moved_spare = fetched ? kept_spare(row->bytes + more) : 0;
}

/* The result of an ended call was handed out. */
void sqlite_fetched(struct sqlite_side *side, struct sqlite_op *op)
{
    struct sqlite_call_row row;

    if (!call_find(side, op, &row))
        return;
    if (!has_ended(&row) || row.spare || !row.whole) {
        op->status = has_ended(&row) ? NOD_E_STALE : NOD_E_NOT_FOUND;
        return;
    }
    struct query q = query(side, SQL_CALL_FETCHED);
    query_int(&q, op->now);
    query_int(&q, row.n);
    query_run(&q);
    side->moved_owner = row.owner;
    side->moved_spare = kept_spare(row.bytes);
}

void sqlite_end(struct sqlite_side *side, struct sqlite_op *op)
{
    struct sqlite_call_row row;

    if (!call_find(side, op, &row))
        return;
    if (str_eq(row.token, op->token))
        return;
    if (has_ended(&row) || (op->state == CALL_STORED_FINISHED && row.epoch != op->epoch)) {
        op->status = NOD_E_STALE;
        return;
    }
    lite_call_close(side, op, &row);
}

/* --- small records, nodes --- */

struct small {
    uint64_t version; /* STORE_NEW: there is none, or its time is over */
    int64_t owner, bytes;
};

static struct small small_seen(struct sqlite_side *side, struct sqlite_op *op)
{
    struct query q = query(side, SQL_SMALL_SEEN);
    struct small small = { .version = STORE_NEW };

    query_int(&q, op->now);
    query_blob(&q, op->kind);
    query_blob(&q, op->id);
    if (query_row(&q)) {
        uint64_t version = (uint64_t)query_get_int(&q);
        small.version = query_get_int(&q) ? version : STORE_NEW;
        small.owner = query_get_int(&q);
        small.bytes = query_get_int(&q);
    }
    query_end(&q);
    return small;
}

/* A record that is nobody's counts nothing. */
static struct small small_wanted(const struct sqlite_op *op, const struct small *was)
{
    struct small wanted = { .owner = op->whose.len               ? sqlite_quota_owner(op->whose)
                                     : was->version == STORE_NEW ? 0
                                                                 : was->owner };

    if (wanted.owner)
        wanted.bytes = kept_small(op->kind, op->id, op->content);
    return wanted;
}

static bool small_fits(struct sqlite_side *side, struct sqlite_op *op, const struct small *was,
                       const struct small *wanted)
{
    if (op->version != STORE_IF_ROOM || was->version != STORE_NEW || !wanted->owner)
        return true;
    quota_said(side, op, sqlite_quota_bytes_full(side, wanted->owner, wanted->bytes));
    return op->reply.quota == STORE_QUOTA_NONE;
}

enum { VERSION_STEP = 1024 };

void sqlite_put(struct sqlite_side *side, struct sqlite_op *op)
{
    struct small was = small_seen(side, op), wanted = small_wanted(op, &was);

    if (op->version && op->version != STORE_IF_ROOM && was.version != op->version) {
        op->status = NOD_E_STALE;
        return;
    }
    if (!small_fits(side, op, &was, &wanted)) {
        op->status = NOD_E_LIMIT;
        return;
    }
    if (!sqlite_wrote(side, codec_write_text(&side->codec, CODEC_VALUE, op->kind, op->id,
                                             op->content, sqlite_blank(side))))
        return;
    /* It always grows, even after a restart and after the newest record was removed: it follows the
     * clock. */
    uint64_t by_clock = (uint64_t)(op->now > 0 ? op->now : 0) * VERSION_STEP;
    side->newest = by_clock > side->newest ? by_clock : side->newest + 1;
    op->reply.version = side->newest;
    struct query q = query(side, SQL_SMALL_PUT);
    query_blob(&q, op->kind);
    query_blob(&q, op->id);
    query_int(&q, (int64_t)op->reply.version);
    query_int_or_null(&q, op->ttl_ms > 0, op->now + op->ttl_ms);
    query_blob(&q, sqlite_fresh(side));
    query_int(&q, wanted.owner);
    query_int(&q, wanted.bytes);
    query_run(&q);
    if (was.bytes && was.owner != wanted.owner)
        sqlite_quota_bytes(side, was.owner, -was.bytes, 0);
    side->moved_owner = wanted.owner;
    side->moved_bytes = wanted.bytes - (was.owner == wanted.owner ? was.bytes : 0);
}

void sqlite_del(struct sqlite_side *side, struct sqlite_op *op)
{
    struct small was = small_seen(side, op);

    if (was.version == STORE_NEW) {
        op->status = NOD_E_NOT_FOUND;
        return;
    }
    struct query q = query(side, SQL_SMALL_DEL);
    query_blob(&q, op->kind);
    query_blob(&q, op->id);
    query_run(&q);
    side->moved_owner = was.owner;
    side->moved_bytes = -was.bytes;
}

void sqlite_beat(struct sqlite_side *side, struct sqlite_op *op)
{
    struct query q = query(side, SQL_NODE_BEAT);

    query_text(&q, op->node);
    query_int(&q, op->now + op->ttl_ms);
    query_run(&q);
}
