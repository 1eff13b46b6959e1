/*
 * store/redis: load, scan.
 *
 * What one call holds is read with one command. What spans calls is in the indexes of the shards:
 * they are all asked in one piece, and what they name is then read in another; the record decides
 * whether it is shown, because it may have moved on in between. A record that cannot be read is
 * left out (the codec has logged it, once), and counts for nothing: as long as there are too few
 * rows, the next that an index names are read.
 */
#include "store/redis_inside.h"

#include <stdio.h>

enum {
    SHARD_ROWS_MOST = 64,    /* candidates that one shard names in one scan */
    SHARD_LIVE_MOST = 256,   /* running and runnable calls looked at in one step of a shard */
    CANDIDATES_MOST = 16384, /* of one scan */
    OWNERS_MOST = 256,       /* nodes whose running calls are looked at in one scan */
};

/* The call is what follows a shard's letter. */
static void say_call(struct redis_op *op, struct str call)
{
    redis_op_say(op, (struct str[]){ STR("HGETALL"), redis_key(op, call, "c:", call) }, 2);
}

static void say_ask(struct redis_op *op, struct str call, struct str ask)
{
    redis_op_say(op,
                 (struct str[]){ STR("HMGET"), redis_key(op, call, "c:", call),
                                 arena_fmt(&op->arena, "m" STR_FMT, STR_ARG(ask)),
                                 arena_fmt(&op->arena, "q" STR_FMT, STR_ARG(ask)),
                                 arena_fmt(&op->arena, "a" STR_FMT, STR_ARG(ask)) },
                 5);
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
    redis_id_set(&op->call, call_id);
    say_call(op, call_id);
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
        say_ask(op, call, id_str(&op->ask));
        return;
    }
    op->status = !ask ? NOD_E_LIMIT
                      : redis_read_ask(&op->store->codec, id_str(&op->ask), redis_item(value, 0),
                                       redis_item(value, 1), redis_item(value, 2), &op->arena, ask);
    op->reply.ask = op->status == NOD_OK ? ask : NULL;
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
    redis_id_set(&op->ask, ask_id);
    if (known) {
        op->phase = 1;
        say_ask(op, id_str(&known->call), ask_id);
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
    struct str owner;
};

struct owner {
    struct owner *next;
    struct str name;
    bool alive;
};

struct scanning {
    struct store_scan scan;
    size_t most;
    struct candidate *first, **end;
    size_t count;
    struct candidate *at; /* whose reply is next */
    uint64_t cursors[REDIS_SHARDS];
    unsigned shards[REDIS_SHARDS]; /* that were asked, in the order of the replies */
    struct owner *owners;
    struct owner *owner_at;
    size_t owner_count;
    size_t page;     /* of what a shard names: asks that are due */
    bool full_page;  /* one of them may name more */
    size_t left_out; /* bytes of what could not be read */
};

static bool room_left(const struct redis_op *op, const struct scanning *scanning)
{
    return op->row_count < scanning->most && op->arena.used - scanning->left_out < REDIS_SCAN_BYTES;
}

static void row_add(struct redis_op *op, struct store_row row)
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

/* A value that is read after its reply is gone. */
static struct redis_value keep_value(struct redis_op *op, const struct redis_value *value)
{
    struct redis_value made = *value;

    if (value->type == REDIS_IS_TEXT)
        made.text = arena_str(&op->arena, value->text);
    return made;
}

/* False: there is none, or it cannot be read. */
static bool row_ask(struct redis_op *op, struct str id, const struct redis_value *value)
{
    struct redis_value meta = keep_value(op, redis_item(value, 0));
    struct redis_value record = keep_value(op, redis_item(value, 1));
    struct redis_value answer = keep_value(op, redis_item(value, 2));
    struct ask_record *ask = ARENA_NEW(&op->arena, struct ask_record);

    op->store->codec.again = true;
    bool read = ask && redis_read_ask(&op->store->codec, id, &meta, &record, &answer, &op->arena,
                                      ask) == NOD_OK;
    op->store->codec.again = false;
    if (!read || ask->state != ASK_PENDING)
        return false;
    /* Whoever ends it now comes with its id alone, and its pointer may be gone by now. */
    redis_know(op->store, id, ask->call_id, ask->scope, ask->sensitive);
    row_add(op, (struct store_row){ .ask = ask });
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
    row_add(op, (struct store_row){ .ask = ask });
}

static void of_call_reply(struct redis_op *op, size_t at, const struct redis_value *value)
{
    struct scanning *scanning = (struct scanning *)(uintptr_t)op->with;

    (void)at;
    op->status =
        redis_read_asks(&op->store->codec, value, &op->arena, scanning->most, keep_row, op);
    if (op->status == NOD_E_NOT_FOUND) /* it is named, and not there */
        op->status = NOD_E_PARSE;
}

static const struct redis_verb of_call_verb = { "scan the asks of a call", of_call_reply };

/* They are in the call's hash, which is read whole in any case. */
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
    redis_id_set(&op->call, call_id);
    say_call(op, call_id);
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

enum { DUE_NAMES, DUE_ASKS };

/* What was named could not be read, or has moved on: the next. */
static void due_more(struct redis_op *op, struct scanning *scanning)
{
    redis_op_more(op);
    op->phase = DUE_NAMES;
    scanning->page++;
    scanning->full_page = false;
    scanning->first = NULL;
    scanning->end = &scanning->first;
    due_say(op, scanning);
}

static void due_reply(struct redis_op *op, size_t at, const struct redis_value *value)
{
    struct scanning *scanning = (struct scanning *)(uintptr_t)op->with;

    if (op->phase == DUE_ASKS) {
        size_t before = op->arena.used;
        if (room_left(op, scanning) && !row_ask(op, scanning->at->ask, value))
            scanning->left_out += op->arena.used - before;
        scanning->at = scanning->at->next;
        if (at + 1 == op->expected && scanning->full_page && room_left(op, scanning) &&
            scanning->count < CANDIDATES_MOST)
            due_more(op, scanning);
        return;
    }
    due_named(op, scanning, value);
    if (at + 1 < op->expected || !scanning->first)
        return;
    redis_op_more(op);
    op->phase = DUE_ASKS;
    scanning->at = scanning->first;
    for (struct candidate *c = scanning->first; c; c = c->next)
        say_ask(op, c->call, c->ask);
}

static const struct redis_verb due_verb = { "scan the asks that are due", due_reply };

/* --- runnable calls --- */

enum { LIVE_NAMES, LIVE_OWNERS, LIVE_CALLS };

static void live_say(struct redis_op *op, struct scanning *scanning)
{
    char cursor[24], most[16];
    unsigned asked = 0;

    snprintf(most, sizeof(most), "%d", SHARD_LIVE_MOST);
    for (unsigned i = 0; i < REDIS_SHARDS; i++) {
        if (scanning->cursors[i] == UINT64_MAX)
            continue;
        snprintf(cursor, sizeof(cursor), "%llu", (unsigned long long)scanning->cursors[i]);
        scanning->shards[asked++] = i;
        redis_op_say(op,
                     (struct str[]){ STR("HSCAN"), redis_shard_key(op, i, "r", STR_NONE),
                                     str_of(cursor), STR("COUNT"), str_of(most) },
                     5);
    }
}

static struct owner *owner_find(const struct scanning *scanning, struct str name)
{
    for (struct owner *at = scanning->owners; at; at = at->next)
        if (str_eq(at->name, name))
            return at;
    return NULL;
}

static void owner_add(struct redis_op *op, struct scanning *scanning, struct str name)
{
    struct owner *seen =
        scanning->owner_count < OWNERS_MOST ? ARENA_NEW(&op->arena, struct owner) : NULL;

    if (!seen)
        return;
    seen->name = name;
    seen->next = scanning->owners;
    scanning->owners = seen;
    scanning->owner_count++;
}

static void live_named(struct redis_op *op, struct scanning *scanning, unsigned shard,
                       const struct redis_value *value)
{
    const struct redis_value *pairs = redis_item(value, 1);
    uint64_t cursor;

    if (!str_to_u64(redis_text(redis_item(value, 0)), &cursor) || cursor == 0)
        cursor = UINT64_MAX; /* that was all of it */
    scanning->cursors[shard] = cursor;
    for (size_t i = 0; i + 1 < (pairs->type == REDIS_IS_LIST ? pairs->count : 0); i += 2) {
        struct str call = redis_text(&pairs->items[i]), owner = redis_text(&pairs->items[i + 1]);
        struct candidate *made = redis_is_id(call) ? candidate_add(op, scanning, call) : NULL;
        if (!made)
            continue;
        made->owner = arena_str(&op->arena, owner);
        if (owner.len && !owner_find(scanning, owner))
            owner_add(op, scanning, made->owner);
    }
}

static bool all_named(const struct scanning *scanning)
{
    for (unsigned i = 0; i < REDIS_SHARDS; i++)
        if (scanning->cursors[i] != UINT64_MAX)
            return scanning->count >= CANDIDATES_MOST;
    return true;
}

/* Runnable, or of a node that is gone. One that was not asked about counts as alive. */
static bool may_be_taken(const struct scanning *scanning, const struct candidate *c)
{
    const struct owner *owner = c->owner.len ? owner_find(scanning, c->owner) : NULL;

    return !c->owner.len || (owner && !owner->alive);
}

/* Of more than we may show, any: what nobody takes must not hide the rest for ever. */
static void live_rotate(struct scanning *scanning)
{
    size_t count = 0;
    uint32_t chance;

    for (const struct candidate *c = scanning->first; c; c = c->next)
        count++;
    if (count <= scanning->most)
        return;
    random_bytes(&chance, sizeof(chance));
    *scanning->end = scanning->first; /* a ring, which is opened elsewhere */
    for (size_t i = chance % count; i > 0; i--) {
        scanning->end = &scanning->first->next;
        scanning->first = scanning->first->next;
    }
    *scanning->end = NULL;
}

static void live_calls_say(struct redis_op *op, struct scanning *scanning)
{
    size_t said = 0;

    redis_op_more(op);
    op->phase = LIVE_CALLS;
    for (struct candidate *c = scanning->at; c && said < scanning->most; c = c->next, said++)
        say_call(op, c->call);
    if (!said)
        op->more = false;
}

static void live_calls_begin(struct redis_op *op, struct scanning *scanning)
{
    live_rotate(scanning);
    scanning->at = scanning->first;
    live_calls_say(op, scanning);
}

/* Only those stay that may be taken. */
static void live_choose(struct redis_op *op, struct scanning *scanning)
{
    struct candidate *all = scanning->first, *next;

    scanning->first = NULL;
    scanning->end = &scanning->first;
    for (struct candidate *c = all; c; c = next) {
        next = c->next;
        c->next = NULL;
        if (!may_be_taken(scanning, c))
            continue;
        *scanning->end = c;
        scanning->end = &c->next;
    }
    live_calls_begin(op, scanning);
}

static void live_names_end(struct redis_op *op, struct scanning *scanning)
{
    if (!all_named(scanning)) {
        redis_op_more(op);
        op->phase = LIVE_NAMES;
        live_say(op, scanning);
        return;
    }
    if (!scanning->owners) {
        live_calls_begin(op, scanning);
        return;
    }
    redis_op_more(op);
    op->phase = LIVE_OWNERS;
    scanning->owner_at = scanning->owners;
    for (struct owner *owner = scanning->owners; owner; owner = owner->next)
        redis_op_say(
            op, (struct str[]){ STR("EXISTS"), redis_key(op, owner->name, "n:", owner->name) }, 2);
}

/* False: it has moved on, or cannot be read. */
static bool live_row(struct redis_op *op, const struct candidate *c,
                     const struct redis_value *value)
{
    struct call_record *call = ARENA_NEW(&op->arena, struct call_record);
    struct redis_value *pairs = ARENA_NEW(&op->arena, struct redis_value);

    if (!call || !pairs || value->type != REDIS_IS_LIST)
        return false;
    *pairs = *value;
    pairs->items = arena_alloc(&op->arena, (value->count + 1) * sizeof(*pairs->items));
    for (size_t i = 0; pairs->items && i < value->count; i++)
        pairs->items[i] = keep_value(op, &value->items[i]);
    op->store->codec.again = true;
    bool read = pairs->items && redis_read_call(&op->store->codec, c->call, pairs, false,
                                                &op->arena, call) == NOD_OK;
    op->store->codec.again = false;
    if (!read)
        return false;
    bool live = call->state == CALL_STORED_RUNNABLE || call->state == CALL_STORED_RUNNING;
    if (live && call->handed)
        row_add(op, (struct store_row){ .call = call });
    return live && call->handed;
}

static void live_reply(struct redis_op *op, size_t at, const struct redis_value *value)
{
    struct scanning *scanning = (struct scanning *)(uintptr_t)op->with;

    if (op->phase == LIVE_NAMES) {
        live_named(op, scanning, scanning->shards[at], value);
        if (at + 1 == op->expected)
            live_names_end(op, scanning);
    } else if (op->phase == LIVE_OWNERS) {
        scanning->owner_at->alive = redis_number(value) != 0;
        scanning->owner_at = scanning->owner_at->next;
        if (at + 1 == op->expected)
            live_choose(op, scanning);
    } else {
        size_t before = op->arena.used;
        if (room_left(op, scanning) && !live_row(op, scanning->at, value))
            scanning->left_out += op->arena.used - before;
        scanning->at = scanning->at->next;
        if (at + 1 == op->expected && scanning->at && room_left(op, scanning))
            live_calls_say(op, scanning);
    }
}

static const struct redis_verb live_verb = { "scan the runnable calls", live_reply };

/* --- the table --- */

void redis_scan(struct store *base, const struct store_scan *scan, store_row_fn *row,
                store_done *done, void *data)
{
    static const struct redis_verb *const verbs[] = {
        [STORE_RUNNABLE] = &live_verb,
        [STORE_ASKS_DUE] = &due_verb,
        [STORE_ASKS_OF_CALL] = &of_call_verb,
    };
    struct redis_op *op = redis_op_new(redis_of(base), verbs[scan->index], done, data);
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
    switch (scan->index) {
    case STORE_RUNNABLE:
        live_say(op, scanning);
        break;
    case STORE_ASKS_DUE:
        due_say(op, scanning);
        break;
    case STORE_ASKS_OF_CALL:
        say_call(op, scan->key);
        break;
    }
    redis_op_send(op);
}
