/*
 * store/redis: all calls, for operators.
 *
 * Ended calls are in no index, so SCAN walks the keys, and its cursor is the cursor of the pages.
 * Of each call the head and the record are read; the journal and the asks are not. SCAN may name a
 * key twice while keys come and go, so a call may be shown twice.
 */
#include "store/redis_inside.h"

enum { ALL_KEYS_MOST = 256, /* keys that one step of the walk names */ ALL_SHARD_TAG = 4 };

enum { ALL_NAMES, ALL_CALLS };

struct all_call {
    struct all_call *next;
    struct str key, id;
};

struct all {
    struct all_call *first, **end, *at;
};

static void all_calls_named(struct redis_op *op, struct all *all, const struct redis_value *keys)
{
    size_t before = strlen(op->store->url.prefix) + ALL_SHARD_TAG + strlen("c:");

    for (size_t i = 0; i < (keys->type == REDIS_IS_LIST ? keys->count : 0); i++) {
        struct all_call *made = ARENA_NEW(&op->arena, struct all_call);
        struct str key = redis_copy(op, redis_text(&keys->items[i]));
        if (!made || key.len < before || !redis_is_id(str_skip(key, before)))
            continue;
        *made = (struct all_call){ .key = key, .id = str_skip(key, before) };
        *all->end = made;
        all->end = &made->next;
    }
}

static void all_row(struct redis_op *op, struct str id, const struct redis_value *value)
{
    struct codec quiet = { .ring = op->store->codec.ring };
    struct call_record *call = ARENA_NEW(&op->arena, struct call_record), record = { 0 };
    struct store_row row = { .call = call };
    struct arena opened;

    if (!call || redis_item(value, 0)->type != REDIS_IS_TEXT ||
        !redis_read_beside(redis_text(redis_item(value, 0)), call, &row.pending))
        return;
    call->id = id;
    call->node = redis_copy(op, call->node);
    arena_init(&opened, REDIS_OP_BYTES);
    row.closed =
        codec_read_call(&quiet, id, redis_text(redis_item(value, 1)), &opened, &record) != NOD_OK;
    if (!row.closed) {
        call->kind = record.kind;
        call->principal = redis_copy(op, record.principal);
        call->target = redis_copy(op, record.target);
    }
    arena_finish(&opened);
    redis_row_add(op, row);
}

static void all_reply(struct redis_op *op, size_t at, const struct redis_value *value)
{
    struct all *all = (struct all *)(uintptr_t)op->with;
    uint64_t cursor;

    (void)at;
    if (op->phase == ALL_CALLS) {
        all_row(op, all->at->id, value);
        all->at = all->at->next;
        return;
    }
    if (!str_to_u64(redis_text(redis_item(value, 0)), &cursor)) {
        redis_op_refused(op, value);
        return;
    }
    if (cursor)
        op->reply.cursor = redis_copy(op, redis_text(redis_item(value, 0)));
    all_calls_named(op, all, redis_item(value, 1));
    if (!all->first)
        return;
    redis_op_more(op);
    all->at = all->first;
    for (const struct all_call *call = all->first; call; call = call->next)
        redis_op_say(op, (struct str[]){ STR("HMGET"), call->key, STR("x"), STR("c") }, 4);
}

static const struct redis_verb all_verb = { "scan all calls", all_reply };

void redis_scan_all(struct store *base, const struct store_scan *scan, store_row_fn *row,
                    store_done *done, void *data)
{
    struct redis_op *op = redis_op_new(redis_of(base), &all_verb, done, data);
    struct all *all = ARENA_NEW(&op->arena, struct all);
    size_t most = scan->limit && scan->limit < ALL_KEYS_MOST ? scan->limit : ALL_KEYS_MOST;
    uint64_t cursor = 0;

    op->row = row;
    op->with = all;
    if (!all || (scan->cursor.len && !str_to_u64(scan->cursor, &cursor))) {
        redis_op_end(op, all ? NOD_E_USAGE : NOD_E_LIMIT);
        return;
    }
    all->end = &all->first;
    redis_op_say(op,
                 (struct str[]){ STR("SCAN"), scan->cursor.len ? scan->cursor : STR("0"),
                                 STR("MATCH"), redis_pattern(op, "c:"), STR("COUNT"),
                                 redis_digits(op, (int64_t)most), STR("TYPE"), STR("hash") },
                 8);
    redis_op_send(op);
}
