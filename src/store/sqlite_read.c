/*
 * store/sqlite: turns rows into records.
 *
 * Runs on the reader's thread, and on the writer's if a transition shows what it changed. A record
 * that the codec refuses ends a load with that status. A scan leaves it out, so that one bad record
 * does not hide the others. In both cases the codec has logged it.
 */
#include "store/claim_rules.h"
#include "store/sqlite_inside.h"

#include <limits.h>
#include <stdio.h>

#include "store/cursor.h"

/* --- asks --- */

static bool refused(struct sqlite_side *side, nod_status status)
{
    if (status != NOD_OK)
        side->refused = status;
    return status == NOD_OK;
}

bool sqlite_read_ask(struct query *q, struct arena *arena, struct ask_record *out)
{
    struct sqlite_side *side = q->side;

    *out = (struct ask_record){ 0 };
    struct str id = query_get_bytes(q, arena);
    enum ask_state state = (enum ask_state)query_get_int(q);
    int64_t asked_ms = query_get_int(q);
    int64_t expires_ms = query_get_int(q);
    int64_t ended_ms = query_get_int(q);
    struct str record = query_get_bytes(q, arena);
    struct str answer = query_get_bytes(q, arena);
    int64_t attempt = query_get_int(q);
    struct str via = query_get_bytes(q, arena);

    if (side->error || !refused(side, codec_read_ask(&side->codec, id, record, arena, out)))
        return false;
    if (answer.len && !refused(side, codec_read_answer(&side->codec, answer, arena, out)))
        return false;
    if (answer.len && out->state != state) { /* the state beside the answer was changed */
        side->refused = NOD_E_REFUSED;
        return false;
    }
    out->state = state;
    out->asked_ms = asked_ms;
    out->expires_ms = expires_ms;
    out->ended_ms = ended_ms;
    out->via = via;
    claim_came_read(out);
    if (attempt > 0 && attempt <= INT_MAX) /* 0: the record is older than the column */
        out->attempt = (int)attempt;
    if (state == ASK_WITHDRAWN)
        out->by = STR("nod");
    return true;
}

void sqlite_load_ask(struct sqlite_side *side, struct sqlite_op *op)
{
    struct query q = query(side, SQL_ASK_FIND);
    struct ask_record *ask = ARENA_NEW(&op->arena, struct ask_record);

    query_text(&q, op->id);
    op->status = NOD_E_NOT_FOUND;
    if (query_row(&q) && ask && sqlite_read_ask(&q, &op->arena, ask)) {
        op->status = NOD_OK;
        op->reply.ask = ask;
    }
    query_end(&q);
}

/* --- calls --- */

/* Reads the columns of CALL_COLUMNS; the row's number goes into *n. */
static bool lite_read_call(struct query *q, struct arena *arena, struct call_record *out,
                           int64_t *n)
{
    struct sqlite_side *side = q->side;

    *out = (struct call_record){ 0 };
    *n = query_get_int(q);
    struct str id = query_get_bytes(q, arena);
    enum call_state state = (enum call_state)query_get_int(q);
    int64_t epoch = query_get_int(q);
    int64_t notices = query_get_int(q);
    int64_t keep_until_ms = query_get_int(q);
    bool handed = query_get_int(q);
    int64_t opened_ms = query_get_int(q);
    struct str record = query_get_bytes(q, arena);
    struct str result = query_get_bytes(q, arena);
    struct str node = query_get_bytes(q, arena);
    struct deaths deaths = deaths_unpack((uint64_t)query_get_int(q));

    if (side->error || !refused(side, codec_read_call(&side->codec, id, record, arena, out)))
        return false;
    if (result.len && !refused(side, codec_read_text(&side->codec, CODEC_RESULT, out->scope, id,
                                                     result, arena, &out->result)))
        return false;
    out->state = state;
    out->epoch = (uint64_t)epoch;
    out->notices = (uint32_t)notices;
    out->opened_ms = opened_ms;
    out->keep_until_ms = keep_until_ms;
    out->handed = handed;
    out->node = node;
    out->deaths = deaths;
    out->forgotten =
        (state == CALL_STORED_FINISHED || state == CALL_STORED_CANCELLED) && !result.len;
    return true;
}

static bool lite_read_journal(struct sqlite_side *side, struct arena *arena, int64_t n,
                              struct call_record *call)
{
    struct query q = query(side, SQL_JOURNAL_LOAD);
    struct codec_parts parts = { 0 };
    nod_status status = NOD_OK;

    query_int(&q, n);
    while (status == NOD_OK && query_row(&q)) {
        struct codec_part *part = codec_parts_add(&parts, arena);
        struct str bytes = query_get_bytes(&q, arena);
        status = NOD_E_LIMIT;
        if (part && !side->error)
            status = codec_read_entries(&side->codec, call->id, bytes, arena, &part->entries,
                                        &part->count);
    }
    query_end(&q);
    if (side->error || !refused(side, status))
        return false;
    if (codec_parts_join(&parts, arena, call) == NOD_OK)
        return true;
    query_fail(side, SQLITE_NOMEM);
    return false;
}

static const struct call_record *read_found(struct query *q, struct sqlite_op *op)
{
    struct sqlite_side *side = q->side;
    struct call_record *call = ARENA_NEW(&op->arena, struct call_record);
    int64_t n = 0;
    bool read = query_row(q) && call && lite_read_call(q, &op->arena, call, &n);

    query_end(q);
    return read && lite_read_journal(side, &op->arena, n, call) ? call : NULL;
}

const struct call_record *sqlite_read_call(struct sqlite_side *side, struct sqlite_op *op,
                                           struct str id)
{
    struct query q = query(side, SQL_CALL_LOAD);

    query_text(&q, id);
    return read_found(&q, op);
}

const struct call_record *sqlite_read_call_number(struct sqlite_side *side, struct sqlite_op *op,
                                                  int64_t n)
{
    struct query q = query(side, SQL_CALL_LOAD_NUMBER);

    query_int(&q, n);
    return read_found(&q, op);
}

void sqlite_load_call(struct sqlite_side *side, struct sqlite_op *op)
{
    op->reply.call = sqlite_read_call(side, op, op->id);
    op->status = op->reply.call ? NOD_OK : NOD_E_NOT_FOUND;
}

/* --- scans --- */

static struct sqlite_row *row_new(struct sqlite_op *op, struct store_row row)
{
    struct sqlite_row *added = ARENA_NEW(&op->arena, struct sqlite_row);

    if (added) {
        op->row_count++;
        added->row = row;
    }
    return added;
}

static void row_add(struct sqlite_op *op, struct store_row row)
{
    struct sqlite_row *added = row_new(op, row);

    if (!added)
        return;
    *op->rows_end = added;
    op->rows_end = &added->next;
}

/* A scan shows the records it can read. The others do not count, and are logged once. */
static void row_skip(struct sqlite_side *side, struct sqlite_op *op, size_t before)
{
    side->refused = NOD_OK;
    op->skipped_bytes += op->arena.used - before;
}

static bool lite_room_left(const struct sqlite_op *op, size_t most)
{
    return op->row_count < most && op->arena.used - op->skipped_bytes < LITE_SCAN_BYTES;
}

/* The latest are read first and shown last. What waits is among them, and is never left out. */
static void lite_scan_of_call(struct sqlite_side *side, struct sqlite_op *op, size_t most)
{
    struct query q = query(side, SQL_ASKS_OF_CALL);

    query_text(&q, op->id);
    query_int(&q, (int64_t)most);
    while ((op->row_count < STORE_CLAIM_MOST ? op->row_count < most : lite_room_left(op, most)) &&
           query_row(&q)) {
        struct ask_record *ask = ARENA_NEW(&op->arena, struct ask_record);
        if (!ask || !sqlite_read_ask(&q, &op->arena, ask))
            break; /* the call cannot go on without it */
        struct sqlite_row *added = row_new(op, (struct store_row){ .ask = ask });
        if (!added)
            continue;
        added->next = op->rows;
        op->rows = added;
    }
    query_end(&q);
}

/* --- pages --- */

/* Where a page begins or ends: a time, and the number of a row. */
struct bound {
    int64_t at, n;
};

static bool bound_read(struct sqlite_op *op, bool ended, struct bound *out)
{
    struct cursor cursor;
    uint64_t number = 0;

    if (!cursor_read(op->scan.cursor, &cursor) ||
        (cursor.given && (!str_to_u64(cursor.name, &number) || number > INT64_MAX)))
        return false;
    out->at = cursor.given ? cursor.at : ended ? INT64_MAX : INT64_MIN;
    out->n = cursor.given ? (int64_t)number : ended ? INT64_MAX : INT64_MIN;
    return true;
}

/* Each reads a row, and says where it is. False: it is not shown. */
typedef bool read_row(struct query *q, struct sqlite_op *op, struct bound *at);

static bool read_due(struct query *q, struct sqlite_op *op, struct bound *at)
{
    struct ask_record *ask = ARENA_NEW(&op->arena, struct ask_record);

    (void)at;
    if (!ask || !sqlite_read_ask(q, &op->arena, ask))
        return false;
    row_add(op, (struct store_row){ .ask = ask });
    return true;
}

static bool read_listed(struct query *q, struct sqlite_op *op, struct bound *at)
{
    struct ask_record *ask = ARENA_NEW(&op->arena, struct ask_record);

    at->at = query_get_int(q);
    at->n = query_get_int(q);
    /* The index knows principals as numbers. The record decides whether it is the same. */
    if (!ask || !sqlite_read_ask(q, &op->arena, ask) ||
        (op->id.len && !str_eq(ask->principal, op->id)))
        return false;
    row_add(op, (struct store_row){ .ask = ask });
    return true;
}

static bool read_runnable(struct query *q, struct sqlite_op *op, struct bound *at)
{
    struct call_record *call = ARENA_NEW(&op->arena, struct call_record);

    if (!call || !lite_read_call(q, &op->arena, call, &at->n))
        return false;
    row_add(op, (struct store_row){ .call = call });
    return true;
}

/* What an operator is shown of a call. Its record is opened beside the rows, which keep little. */
static bool read_any(struct query *q, struct sqlite_op *op, struct bound *at)
{
    struct codec quiet = { .ring = q->side->codec.ring };
    struct call_record *call = ARENA_NEW(&op->arena, struct call_record), record = { 0 };
    struct store_row row = { .call = call };
    struct arena opened;

    at->n = query_get_int(q);
    if (!call)
        return true;
    call->id = query_get_bytes(q, &op->arena);
    call->state = (enum call_state)query_get_int(q);
    call->epoch = (uint64_t)query_get_int(q);
    call->handed = query_get_int(q);
    call->opened_ms = query_get_int(q);
    call->node = query_get_bytes(q, &op->arena);
    call->deaths = deaths_unpack((uint64_t)query_get_int(q));
    row.pending = (size_t)query_get_int(q);
    arena_init(&opened, LITE_OP_BYTES);
    struct str bytes = query_column(q->stmt, q->column);
    row.closed = codec_read_call(&quiet, call->id, bytes, &opened, &record) != NOD_OK;
    if (!row.closed) {
        call->kind = record.kind;
        call->principal = arena_str(&op->arena, record.principal);
        call->target = arena_str(&op->arena, record.target);
    }
    arena_finish(&opened);
    row_add(op, row);
    return true;
}

static void read_rows(struct query *q, struct sqlite_op *op, size_t most, read_row *read,
                      bool paged)
{
    struct bound at = { 0 };
    char digits[24];
    bool there = query_row(q);

    for (; there && lite_room_left(op, most); there = query_row(q)) {
        size_t before = op->arena.used;
        if (!read(q, op, &at))
            row_skip(q->side, op, before);
    }
    query_end(q);
    char *text = there && paged ? arena_alloc(&op->arena, CURSOR_TEXT_MAX) : NULL;
    snprintf(digits, sizeof(digits), "%lld", (long long)at.n);
    if (text)
        op->reply.cursor = cursor_write(text, at.at, str_of(digits));
}

void sqlite_scan(struct sqlite_side *side, struct sqlite_op *op)
{
    const struct store_scan *scan = &op->scan;
    size_t most = scan->limit && scan->limit < LITE_SCAN_MOST ? scan->limit : LITE_SCAN_MOST;
    bool ended = scan->index == STORE_ASKS_ENDED, of = op->id.len > 0;
    bool paged = scan->index != STORE_ASKS_DUE && scan->index != STORE_ASKS_OF_CALL;
    struct bound from = { 0 };
    struct query q;

    op->row_count = op->skipped_bytes = 0;
    if (paged && !bound_read(op, ended, &from)) {
        op->status = NOD_E_USAGE;
        return;
    }
    side->codec.again = scan->index != STORE_ASKS_OF_CALL;
    switch (scan->index) {
    case STORE_RUNNABLE:
        q = query(side, SQL_CALLS_RUNNABLE);
        query_int(&q, from.n);
        query_int(&q, op->now);
        read_rows(&q, op, most, read_runnable, true);
        break;
    case STORE_ASKS_DUE:
        q = query(side, SQL_ASKS_DUE);
        query_int(&q, scan->before ? scan->before : op->now);
        read_rows(&q, op, most, read_due, false);
        break;
    case STORE_ASKS_OF_CALL:
        lite_scan_of_call(side, op, most);
        break;
    case STORE_ASKS_PENDING:
    case STORE_ASKS_ENDED:
        q = query(side, ended ? (of ? SQL_ASKS_ENDED_OF : SQL_ASKS_ENDED)
                              : (of ? SQL_ASKS_PENDING_OF : SQL_ASKS_PENDING));
        if (of)
            query_int(&q, sqlite_quota_owner(op->id));
        query_int(&q, from.at);
        query_int(&q, from.n);
        if (!ended)
            query_int(&q, op->now);
        read_rows(&q, op, most, read_listed, true);
        break;
    case STORE_CALLS:
        q = query(side, SQL_CALLS_ALL);
        query_int(&q, from.n);
        read_rows(&q, op, most, read_any, true);
        break;
    }
    side->codec.again = false;
}

/* --- small records --- */

void sqlite_get(struct sqlite_side *side, struct sqlite_op *op)
{
    struct query q = query(side, SQL_SMALL_FIND);

    query_blob(&q, op->kind);
    query_blob(&q, op->id);
    query_int(&q, op->now);
    op->status = NOD_E_NOT_FOUND;
    if (query_row(&q)) {
        op->reply.version = (uint64_t)query_get_int(&q);
        struct str bytes = query_get_bytes(&q, &op->arena);
        op->status = NOD_OK;
        if (!side->error)
            refused(side, codec_read_text(&side->codec, CODEC_VALUE, op->kind, op->id, bytes,
                                          &op->arena, &op->reply.value));
    }
    query_end(&q);
}

static bool list_row(struct query *q, struct sqlite_op *op, struct str key)
{
    struct sqlite_side *side = q->side;
    struct store_value *value = ARENA_NEW(&op->arena, struct store_value);

    if (!value)
        return false;
    value->key = key;
    value->version = (uint64_t)query_get_int(q);
    struct str bytes = query_get_bytes(q, &op->arena);
    if (side->error || !refused(side, codec_read_text(&side->codec, CODEC_VALUE, op->kind, key,
                                                      bytes, &op->arena, &value->value)))
        return false;
    row_add(op, (struct store_row){ .value = value });
    return true;
}

/* The cursor is a dot and the last key that was looked at. */
void sqlite_list(struct sqlite_side *side, struct sqlite_op *op)
{
    const struct store_list *list = &op->list;
    size_t most = list->limit && list->limit < LITE_SCAN_MOST ? list->limit : LITE_SCAN_MOST;
    struct str after = str_skip(list->cursor, list->cursor.len > 0), key = STR_NONE;
    bool later = false;

    op->row_count = op->skipped_bytes = 0;
    if (list->cursor.len && list->cursor.at[0] != '.') {
        op->status = NOD_E_USAGE;
        return;
    }
    side->codec.again = true;
    struct query q = query(side, SQL_SMALL_LIST);
    query_blob(&q, op->kind);
    query_blob(&q, list->cursor.len ? after : list->prefix);
    query_int(&q, op->now);
    while (query_row(&q)) {
        size_t before = op->arena.used;
        struct str next = query_get_bytes(&q, &op->arena);
        later = str_starts(next, list->prefix);
        if (!later || !lite_room_left(op, most))
            break;
        later = false;
        if (list->cursor.len && str_eq(next, after))
            continue;
        key = next;
        if (!list_row(&q, op, key))
            row_skip(side, op, before);
    }
    query_end(&q);
    side->codec.again = false;
    char *text = later ? arena_alloc(&op->arena, key.len + 1) : NULL;
    if (!text)
        return;
    text[0] = '.';
    if (key.len)
        memcpy(text + 1, key.at, key.len);
    op->reply.cursor = str_n(text, key.len + 1);
}
