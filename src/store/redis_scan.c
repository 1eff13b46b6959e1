/*
 * store/redis: load, scan.
 *
 * Everything of one call is read with one command. Scans over several calls use the indexes of the
 * shards: all shards are asked in one batch, and what they name is read in another. The record
 * decides whether it is shown, because it may have changed in between. A record that cannot be read
 * is left out (the codec has logged it, once) and does not count: while there are too few rows, the
 * next names of an index are read.
 */
#include "store/redis_inside.h"

#include <stdio.h>

enum {
    SHARD_ROWS_MOST = 64,    /* asks that one shard names in one scan */
    CANDIDATES_MOST = 16384, /* asks looked at in one scan */
};

void redis_say_call(struct redis_op *op, struct str call)
{
    redis_op_say(op, (struct str[]){ STR("HGETALL"), redis_key(op, call, "c:", call) }, 2);
}

void redis_say_ask(struct redis_op *op, struct str call, struct str ask)
{
    redis_op_say(op,
                 (struct str[]){ STR("HMGET"), redis_key(op, call, "c:", call),
                                 arena_fmt(&op->arena, "m" STR_FMT, STR_ARG(ask)),
                                 arena_fmt(&op->arena, "q" STR_FMT, STR_ARG(ask)),
                                 arena_fmt(&op->arena, "a" STR_FMT, STR_ARG(ask)), STR("v") },
                 6);
}

/* --- load --- */

static void load_call_reply(struct redis_op *op, size_t at, const struct redis_value *value)
{
    struct call_record *call = ARENA_NEW(&op->arena, struct call_record);

    (void)at;
    if (!call) {
        op->status = NOD_E_LIMIT;
        return;
    }
    op->status =
        redis_read_call(&op->store->codec, id_str(&op->call), value, true, &op->arena, call);
    op->reply.call = op->status == NOD_OK ? call : NULL;
}

static const struct redis_verb load_call_verb = { "load_call", load_call_reply };

void redis_load_call(struct store *base, struct str call_id, store_done *done, void *data)
{
    struct redis_op *op = redis_op_new(redis_of(base), &load_call_verb, done, data);

    if (!redis_is_id(call_id)) {
        redis_op_end(op, NOD_E_NOT_FOUND);
        return;
    }
    op->call = id_of(call_id);
    redis_say_call(op, call_id);
    redis_op_send(op);
}

static void load_ask_reply(struct redis_op *op, size_t at, const struct redis_value *value)
{
    struct ask_record *ask = ARENA_NEW(&op->arena, struct ask_record);

    (void)at;
    if (op->phase == 0) {
        struct str call = redis_text(value);
        if (!redis_is_id(call)) {
            op->status = NOD_E_NOT_FOUND;
            return;
        }
        redis_op_more(op);
        redis_say_ask(op, call, id_str(&op->ask));
        return;
    }
    op->status = !ask ? NOD_E_LIMIT
                      : redis_read_ask(&op->store->codec, id_str(&op->ask), redis_item(value, 0),
                                       redis_item(value, 1), redis_item(value, 2), &op->arena, ask);
    op->reply.ask = op->status == NOD_OK ? ask : NULL;
    /* Calls of older nodes do not have it. */
    if (op->reply.ask && !str_to_i64(redis_text(redis_item(value, 3)), &ask->call_version))
        ask->call_version = 0;
}

static const struct redis_verb load_ask_verb = { "load_ask", load_ask_reply };

void redis_load_ask(struct store *base, struct str ask_id, store_done *done, void *data)
{
    struct redis_op *op = redis_op_new(redis_of(base), &load_ask_verb, done, data);
    const struct known *known = redis_known(redis_of(base), ask_id);

    if (!redis_is_id(ask_id)) {
        redis_op_end(op, NOD_E_NOT_FOUND);
        return;
    }
    op->ask = id_of(ask_id);
    if (known) {
        op->phase = 1;
        redis_say_ask(op, id_str(&known->call), ask_id);
    } else {
        redis_op_say(op, (struct str[]){ STR("GET"), redis_key(op, ask_id, "p:", ask_id) }, 2);
    }
    redis_op_send(op);
}

/* --- rows --- */

struct candidate { /* what an index has named */
    struct candidate *next;
    struct str call;
    struct str ask;
};

struct scanning {
    struct store_scan scan;
    size_t most;
    struct candidate *first, **end;
    size_t count;
    struct candidate *at; /* the next whose reply comes */
    size_t page;          /* how many a shard names at a time: asks that are due */
    bool full_page;       /* one shard may name more */
    size_t left_out;      /* bytes used for what could not be read */
};

static bool scan_room_left(const struct redis_op *op, const struct scanning *scanning)
{
    return op->row_count < scanning->most && op->arena.used - scanning->left_out < REDIS_SCAN_BYTES;
}

void redis_row_add(struct redis_op *op, struct store_row row)
{
    struct redis_row *added = ARENA_NEW(&op->arena, struct redis_row);

    if (!added)
        return;
    added->row = row;
    *op->rows_end = added;
    op->rows_end = &added->next;
    op->row_count++;
}

static struct candidate *candidate_add(struct redis_op *op, struct scanning *scanning,
                                       struct str call)
{
    struct candidate *made =
        scanning->count < CANDIDATES_MOST ? ARENA_NEW(&op->arena, struct candidate) : NULL;

    if (!made)
        return NULL;
    made->call = arena_str(&op->arena, call);
    *scanning->end = made;
    scanning->end = &made->next;
    scanning->count++;
    return made;
}

struct redis_value redis_keep_value(struct redis_op *op, const struct redis_value *value)
{
    struct redis_value made = *value;

    if (value->type == REDIS_IS_TEXT)
        made.text = arena_str(&op->arena, value->text);
    return made;
}

bool redis_row_ask(struct redis_op *op, struct str id, const struct redis_value *value,
                   bool (*fits)(const struct redis_op *op, const struct ask_record *ask))
{
    struct redis_value meta = redis_keep_value(op, redis_item(value, 0));
    struct redis_value record = redis_keep_value(op, redis_item(value, 1));
    struct redis_value answer = redis_keep_value(op, redis_item(value, 2));
    struct ask_record *ask = ARENA_NEW(&op->arena, struct ask_record);

    op->store->codec.again = true;
    bool read = ask && redis_read_ask(&op->store->codec, id, &meta, &record, &answer, &op->arena,
                                      ask) == NOD_OK;
    op->store->codec.again = false;
    if (!read || !fits(op, ask))
        return false;
    /* The operation that ends it will know only its id, and its pointer may be gone by now. */
    redis_know(op->store, id, ask->call_id, ask->scope, ask->sensitive);
    redis_row_add(op, (struct store_row){ .ask = ask });
    return true;
}

/* --- asks of a call --- */

static void keep_row(void *data, const struct store_row *row)
{
    struct redis_op *op = data;
    struct ask_record *ask = ARENA_NEW(&op->arena, struct ask_record);

    if (!ask)
        return;
    *ask = *row->ask;
    redis_row_add(op, (struct store_row){ .ask = ask });
}

static void of_call_reply(struct redis_op *op, size_t at, const struct redis_value *value)
{
    struct scanning *scanning = (struct scanning *)(uintptr_t)op->with;

    (void)at;
    op->status =
        redis_read_asks(&op->store->codec, value, &op->arena, scanning->most, keep_row, op);
    if (op->status == NOD_E_NOT_FOUND) /* it is named, but does not exist */
        op->status = NOD_E_PARSE;
}

static const struct redis_verb of_call_verb = { "scan the asks of a call", of_call_reply };

/* The asks are in the call's hash, which is read whole in any case. */
static void with_asks_reply(struct redis_op *op, size_t at, const struct redis_value *value)
{
    load_call_reply(op, at, value);
    if (op->status == NOD_OK && op->reply.call->state == CALL_STORED_WAITING)
        of_call_reply(op, at, value);
}

static const struct redis_verb with_asks_verb = { "load_with_asks", with_asks_reply };

void redis_load_with_asks(struct store *base, struct str call_id, size_t most, store_row_fn *row,
                          store_done *done, void *data)
{
    struct redis_op *op = redis_op_new(redis_of(base), &with_asks_verb, done, data);
    struct scanning *scanning = ARENA_NEW(&op->arena, struct scanning);

    op->row = row;
    op->with = scanning;
    if (!scanning || !redis_is_id(call_id)) {
        redis_op_end(op, scanning ? NOD_E_NOT_FOUND : NOD_E_LIMIT);
        return;
    }
    scanning->most = most < REDIS_SCAN_MOST ? most : REDIS_SCAN_MOST;
    scanning->end = &scanning->first;
    op->call = id_of(call_id);
    redis_say_call(op, call_id);
    redis_op_send(op);
}

/* --- asks that are due --- */

static void due_say(struct redis_op *op, const struct scanning *scanning)
{
    char before[32], most[16], from[24];
    int64_t by = scanning->scan.before ? scanning->scan.before : redis_now(op->store);
    size_t rows = scanning->most < SHARD_ROWS_MOST ? scanning->most : SHARD_ROWS_MOST;

    snprintf(before, sizeof(before), "%lld", (long long)by);
    snprintf(most, sizeof(most), "%zu", rows);
    snprintf(from, sizeof(from), "%zu", scanning->page * rows);
    for (unsigned i = 0; i < REDIS_SHARDS; i++)
        redis_op_say(op,
                     (struct str[]){ STR("ZRANGEBYSCORE"), redis_shard_key(op, i, "d", STR_NONE),
                                     STR("-inf"), str_of(before), STR("LIMIT"), str_of(from),
                                     str_of(most) },
                     7);
}

static void due_named(struct redis_op *op, struct scanning *scanning,
                      const struct redis_value *value)
{
    size_t rows = scanning->most < SHARD_ROWS_MOST ? scanning->most : SHARD_ROWS_MOST;

    scanning->full_page |= value->type == REDIS_IS_LIST && value->count == rows;
    for (size_t i = 0; i < (value->type == REDIS_IS_LIST ? value->count : 0); i++) {
        struct str member = redis_text(&value->items[i]);
        if (member.len != 2 * ID_LEN)
            continue;
        struct candidate *made = candidate_add(op, scanning, str_n(member.at, ID_LEN));
        if (made)
            made->ask = arena_str(&op->arena, str_skip(member, ID_LEN));
    }
}

static bool due_fits(const struct redis_op *op, const struct ask_record *ask)
{
    (void)op;
    return ask->state == ASK_PENDING;
}

enum { DUE_NAMES, DUE_ASKS };

static void due_reply(struct redis_op *op, size_t at, const struct redis_value *value)
{
    struct scanning *scanning = (struct scanning *)(uintptr_t)op->with;

    if (op->phase == DUE_ASKS) {
        size_t before = op->arena.used;
        if (scan_room_left(op, scanning) && !redis_row_ask(op, scanning->at->ask, value, due_fits))
            scanning->left_out += op->arena.used - before;
        scanning->at = scanning->at->next;
        if (at + 1 == op->expected && scanning->full_page && scan_room_left(op, scanning) &&
            scanning->count < CANDIDATES_MOST) {
            /* What was named could not be read, or has changed: reads the next. */
            redis_op_more(op);
            op->phase = DUE_NAMES;
            scanning->page++;
            scanning->full_page = false;
            scanning->first = NULL;
            scanning->end = &scanning->first;
            due_say(op, scanning);
        }
        return;
    }
    due_named(op, scanning, value);
    if (at + 1 < op->expected || !scanning->first)
        return;
    redis_op_more(op);
    op->phase = DUE_ASKS;
    scanning->at = scanning->first;
    for (struct candidate *c = scanning->first; c; c = c->next)
        redis_say_ask(op, c->call, c->ask);
}

static const struct redis_verb due_verb = { "scan the asks that are due", due_reply };

/* --- the whole --- */

static void scan_begin(struct store *base, const struct store_scan *scan, store_row_fn *row,
                       store_done *done, void *data)
{
    const struct redis_verb *verb = scan->index == STORE_ASKS_DUE ? &due_verb : &of_call_verb;
    struct redis_op *op = redis_op_new(redis_of(base), verb, done, data);
    struct scanning *scanning = ARENA_NEW(&op->arena, struct scanning);

    op->row = row;
    op->with = scanning;
    op->key = arena_str(&op->arena, scan->key);
    if (!scanning || (scan->index == STORE_ASKS_OF_CALL && !redis_is_id(scan->key))) {
        redis_op_end(op, scanning ? NOD_OK : NOD_E_LIMIT);
        return;
    }
    scanning->scan = *scan;
    scanning->most = scan->limit && scan->limit < REDIS_SCAN_MOST ? scan->limit : REDIS_SCAN_MOST;
    scanning->end = &scanning->first;
    if (scan->index == STORE_ASKS_DUE)
        due_say(op, scanning);
    else
        redis_say_call(op, scan->key);
    redis_op_send(op);
}

void redis_scan(struct store *base, const struct store_scan *scan, store_row_fn *row,
                store_done *done, void *data)
{
    if (scan->index == STORE_RUNNABLE)
        redis_scan_live(base, scan, row, done, data);
    else if (scan->index == STORE_CALLS)
        redis_scan_all(base, scan, row, done, data);
    else if (scan->index == STORE_ASKS_PENDING || scan->index == STORE_ASKS_ENDED)
        redis_scan_asks(base, scan, row, done, data);
    else
        scan_begin(base, scan, row, done, data);
}
