/*
 * store/redis: the calls that could be run.
 *
 * Running and runnable calls are in one hash in each shard, with their nodes. All hashes are walked
 * in steps; the first step is made twice, to learn which nodes are alive. Calls of living nodes are
 * passed over, so however many calls run, they hide none that could be run. Then the records of the
 * others are read, and decide.
 *
 * They come by page, in the order of their shards and then of their ids. A bounded number of them
 * is remembered: those that come first after the cursor.
 */
#include "store/redis_inside.h"

#include <stdio.h>
#include <stdlib.h>

#include "store/cursor.h"

enum {
    LIVE_STEP_MOST = 256,        /* calls of a shard that are looked at in one step */
    LIVE_REMEMBERED_MOST = 8192, /* calls that could be run, of which the first are shown */
    LIVE_NODES_MOST = 256,       /* nodes whose calls are looked at */
};

enum { LIVE_NAMES, LIVE_NODES, LIVE_CALLS };

struct node {
    struct node *next;
    struct str name;
    bool asked; /* it is known whether it is alive */
    bool alive;
};

struct live_call {
    unsigned shard;
    struct id id;
    const struct node *with; /* NULL: it has no node */
};

struct living {
    size_t most;
    uint64_t cursors[REDIS_SHARDS];
    unsigned shards[REDIS_SHARDS]; /* those that were asked, in the order of the replies */
    struct node *nodes;
    size_t node_count;
    struct node *asking; /* whose reply is next */
    struct live_call *calls;
    size_t count;
    bool learning;          /* the first step, which is made twice, to learn the nodes */
    struct live_call after; /* the page begins after this one, if `paged` */
    bool paged;
    struct live_call last; /* none after this one was remembered, if `cut` */
    bool cut;
    size_t next;     /* how many were read */
    size_t shown;    /* how many of them there was room for */
    size_t left_out; /* bytes used for what could not be read */
};

/* --- names --- */

static void names_say(struct redis_op *op, struct living *living)
{
    char cursor[24];
    unsigned asked = 0;
    struct str step = redis_digits(op, LIVE_STEP_MOST);

    for (unsigned i = 0; i < REDIS_SHARDS; i++) {
        if (living->cursors[i] == UINT64_MAX)
            continue;
        snprintf(cursor, sizeof(cursor), "%llu", (unsigned long long)living->cursors[i]);
        living->shards[asked++] = i;
        redis_op_say(op,
                     (struct str[]){ STR("HSCAN"), redis_shard_key(op, i, "r", STR_NONE),
                                     str_of(cursor), STR("COUNT"), step },
                     5);
    }
}

/* NULL: there are too many nodes. A node that is not asked about counts as alive. */
static const struct node *node_of(struct redis_op *op, struct living *living, struct str name)
{
    struct node *at = living->nodes;

    while (at && !str_eq(at->name, name))
        at = at->next;
    if (at || living->node_count >= LIVE_NODES_MOST)
        return at;
    at = ARENA_NEW(&op->arena, struct node);
    if (!at)
        return NULL;
    at->name = arena_str(&op->arena, name);
    at->next = living->nodes;
    living->nodes = at;
    living->node_count++;
    return at;
}

static int live_order(const void *a, const void *b)
{
    const struct live_call *one = a, *other = b;

    if (one->shard != other->shard)
        return one->shard < other->shard ? -1 : 1;
    return memcmp(one->id.text, other->id.text, ID_LEN);
}

/* HSCAN may name a call twice. */
static void live_sort(struct living *living)
{
    size_t kept = 0;

    qsort(living->calls, living->count, sizeof(*living->calls), live_order);
    for (size_t i = 0; i < living->count; i++)
        if (!kept || live_order(&living->calls[kept - 1], &living->calls[i]) != 0)
            living->calls[kept++] = living->calls[i];
    living->count = kept;
}

static void call_met(struct living *living, unsigned shard, struct str id, const struct node *with)
{
    struct live_call met = { .shard = shard, .with = with };

    met.id = id_of(id);
    if ((living->paged && live_order(&met, &living->after) <= 0) ||
        (living->cut && live_order(&met, &living->last) > 0))
        return;
    if (living->count == LIVE_REMEMBERED_MOST)
        live_sort(living);
    if (living->count == LIVE_REMEMBERED_MOST) { /* those that come later are not for this page */
        living->count = LIVE_REMEMBERED_MOST / 2;
        living->last = living->calls[living->count - 1];
        living->cut = true;
    }
    if (!living->cut || live_order(&met, &living->last) <= 0)
        living->calls[living->count++] = met;
}

static void names_heard(struct redis_op *op, struct living *living, unsigned shard,
                        const struct redis_value *value)
{
    const struct redis_value *pairs = redis_item(value, 1);
    uint64_t cursor;

    if (!str_to_u64(redis_text(redis_item(value, 0)), &cursor) || cursor == 0)
        cursor = UINT64_MAX; /* the whole hash was walked */
    if (living->cut && shard > living->last.shard)
        cursor = UINT64_MAX; /* the rest is for later pages */
    if (!living->learning)
        living->cursors[shard] = cursor;
    for (size_t i = 0; i + 1 < (pairs->type == REDIS_IS_LIST ? pairs->count : 0); i += 2) {
        struct str id = redis_text(&pairs->items[i]), name = redis_text(&pairs->items[i + 1]);
        const struct node *with = name.len ? node_of(op, living, name) : NULL;
        bool passed = name.len && (!with || (with->asked && with->alive));
        if (redis_is_id(id) && !passed && !living->learning)
            call_met(living, shard, id, with);
    }
}

static bool live_all_named(const struct living *living)
{
    for (unsigned i = 0; i < REDIS_SHARDS; i++)
        if (living->cursors[i] != UINT64_MAX)
            return false;
    return true;
}

/* --- nodes --- */

static struct node *not_asked(struct node *from)
{
    while (from && from->asked)
        from = from->next;
    return from;
}

/* --- records --- */

static void calls_say(struct redis_op *op, struct living *living)
{
    size_t said = 0;

    redis_op_more(op);
    op->phase = LIVE_CALLS;
    for (size_t i = living->next; i < living->count && said < living->most; i++, said++)
        redis_say_call(op, id_str(&living->calls[i].id));
    if (!said)
        op->more = false;
}

/* The next page begins after the last call that there was room for. */
static void live_page_ends(struct redis_op *op, const struct living *living)
{
    const struct live_call *last =
        living->shown < living->count ? &living->calls[living->shown - 1] : &living->last;
    char *text = arena_alloc(&op->arena, CURSOR_TEXT_MAX);

    if (text && (living->shown < living->count || living->cut))
        op->reply.cursor = cursor_write(text, last->shard, id_str(&last->id));
}

static bool live_room_left(const struct redis_op *op, const struct living *living)
{
    return op->row_count < living->most && op->arena.used - living->left_out < REDIS_SCAN_BYTES;
}

/* False: the call has moved on, or cannot be read. */
static bool call_row(struct redis_op *op, struct str id, const struct redis_value *value)
{
    struct call_record *call = ARENA_NEW(&op->arena, struct call_record);
    struct redis_value *pairs = ARENA_NEW(&op->arena, struct redis_value);

    if (!call || !pairs || value->type != REDIS_IS_LIST)
        return false;
    *pairs = *value;
    pairs->items = arena_alloc(&op->arena, (value->count + 1) * sizeof(*pairs->items));
    for (size_t i = 0; pairs->items && i < value->count; i++)
        pairs->items[i] = redis_keep_value(op, &value->items[i]);
    op->store->codec.again = true;
    bool read = pairs->items &&
                redis_read_call(&op->store->codec, id, pairs, false, &op->arena, call) == NOD_OK;
    op->store->codec.again = false;
    if (!read)
        return false;
    bool live = call->state == CALL_STORED_RUNNABLE || call->state == CALL_STORED_RUNNING;
    if (live && call->handed)
        redis_row_add(op, (struct store_row){ .call = call });
    return live && call->handed;
}

/* --- the whole --- */

static void step_done(struct redis_op *op, struct living *living)
{
    living->learning = false;
    if (not_asked(living->nodes)) {
        redis_op_more(op);
        op->phase = LIVE_NODES;
        living->asking = not_asked(living->nodes);
        for (struct node *at = living->asking; at; at = not_asked(at->next))
            redis_op_say(
                op, (struct str[]){ STR("EXISTS"), redis_key(op, at->name, "n:", at->name) }, 2);
    } else if (!live_all_named(living)) {
        redis_op_more(op);
        op->phase = LIVE_NAMES;
        names_say(op, living);
    } else {
        live_sort(living);
        calls_say(op, living);
        if (!living->count)
            live_page_ends(op, living);
    }
}

static void live_reply(struct redis_op *op, size_t at, const struct redis_value *value)
{
    struct living *living = (struct living *)(uintptr_t)op->with;
    bool last = at + 1 == op->expected;

    if (op->phase == LIVE_NAMES) {
        names_heard(op, living, living->shards[at], value);
        if (last)
            step_done(op, living);
    } else if (op->phase == LIVE_NODES) {
        living->asking->alive = redis_number(value) != 0;
        living->asking->asked = true;
        living->asking = not_asked(living->asking->next);
        if (!last)
            return;
        /* Forgets calls whose nodes are alive. */
        size_t left = 0;
        for (size_t i = 0; i < living->count; i++)
            if (!living->calls[i].with || !living->calls[i].with->alive)
                living->calls[left++] = living->calls[i];
        living->count = left;
        step_done(op, living);
    } else {
        size_t before = op->arena.used;
        struct str id = id_str(&living->calls[living->next++].id);
        bool room = live_room_left(op, living);
        living->shown += room;
        if (room && !call_row(op, id, value))
            living->left_out += op->arena.used - before;
        if (last && living->next < living->count && live_room_left(op, living))
            calls_say(op, living);
        else if (last)
            live_page_ends(op, living);
    }
}

static const struct redis_verb live_verb = { "scan the runnable calls", live_reply };

void redis_scan_live(struct store *base, const struct store_scan *scan, store_row_fn *row,
                     store_done *done, void *data)
{
    struct redis_op *op = redis_op_new(redis_of(base), &live_verb, done, data);
    struct living *living = ARENA_NEW(&op->arena, struct living);

    struct cursor cursor;

    if (living)
        living->calls = arena_alloc(&op->arena, LIVE_REMEMBERED_MOST * sizeof(*living->calls));
    if (!living || !living->calls) {
        redis_op_end(op, NOD_E_LIMIT);
        return;
    }
    if (!cursor_read(scan->cursor, &cursor) ||
        (cursor.given &&
         (!redis_is_id(cursor.name) || cursor.at < 0 || cursor.at >= REDIS_SHARDS))) {
        redis_op_end(op, NOD_E_USAGE);
        return;
    }
    living->paged = cursor.given;
    if (cursor.given) {
        living->after.shard = (unsigned)cursor.at;
        living->after.id = id_of(cursor.name);
        for (unsigned i = 0; i < living->after.shard; i++)
            living->cursors[i] = UINT64_MAX; /* shown by earlier pages */
    }
    living->most = scan->limit && scan->limit < REDIS_SCAN_MOST ? scan->limit : REDIS_SCAN_MOST;
    living->left_out = op->arena.used; /* does not count as rows */
    living->learning = true;
    op->row = row;
    op->with = living;
    names_say(op, living);
    redis_op_send(op);
}
