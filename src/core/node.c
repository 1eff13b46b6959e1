/*
 * core/node: what nodes know of each other, beside their heartbeats.
 *
 * Each node has a small record in the store: when it started, whether it was told to stop, and
 * which targets it has, in which version. With a shared store the record is put with every
 * heartbeat, and is gone when the node is. A node that is told to stop (SIGTERM, SIGINT, nod_stop,
 * the end of standard input) says so in its record before it does anything else. That word outlives
 * the node: what the node leaves running counts for nothing (suspect.c).
 *
 * The records of all nodes are read when somebody needs them, and kept until somebody needs newer
 * ones. Whoever needs them asks whether they were read since some moment (nodes_known), and if not
 * comes back after its next look.
 *
 * Holds always: once a node has said that it was told to stop, its record never says otherwise.
 *
 * The record: "1 STARTED left" or "1 STARTED here MARK,MARK,...,", a mark for each target.
 */
#include "core/inside.h"

#include <limits.h>
#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"
#include "core/catalog.h"
#include "crypto/digest.h"

#define NODE_KIND STR("node")

enum {
    NODE_RECORD_MAX = 2 << 20, /* bytes of the record of one node */
    NODES_BYTES_MAX = 8 << 20, /* of the records of all nodes, as far as they are kept */
    NODES_ROWS = 256,          /* records that are read at once */
    NODES_CURSOR_MAX = 256,    /* bytes of where the next page begins */
    MARK_LEN = 16,             /* of a target in a version */
};

struct node_seen { /* another node, or this one */
    struct node_seen *next;
    struct str name;
    int64_t started_ms;
    bool left;        /* it was told to stop */
    struct str marks; /* each with a comma behind it */
};

struct nodes {
    struct engine *engine;
    struct buf record; /* of this node, as it is put; empty: to be written anew */
    int64_t started_ms;
    int64_t ttl_ms; /* 0: this node does not say what it has */
    bool putting;   /* the record is on its way */
    bool left;      /* this node was told to stop */
    bool leaving;   /* that is on its way */
    struct op leave;
    bool reading; /* the records of all nodes are being read, into `fresh` */
    struct op read;
    char cursor[NODES_CURSOR_MAX]; /* of the next page */
    size_t cursor_len;
    int64_t began; /* monotonic: when that reading began */
    bool known;    /* the records were read, into `seen`, and that reading began at known_since */
    int64_t known_since;
    struct arena arena, fresh_arena;
    struct node_seen *seen, *fresh;
};

/* --- the record of this node --- */

/* A target in a version, as target_has_changed compares it. */
static void mark_of(char out[MARK_LEN + 1], enum target_kind kind, struct str name, int64_t version)
{
    char hex[DIGEST_HEX_LEN + 1];
    char number[2][24];
    struct digest digest;

    snprintf(number[0], sizeof(number[0]), "%d", (int)kind);
    snprintf(number[1], sizeof(number[1]), "%lld", (long long)version);
    struct str parts[] = { str_of(number[0]), name, str_of(number[1]) };
    digest_of_parts(parts, 3, &digest);
    digest_hex(&digest, hex);
    memcpy(out, hex, MARK_LEN);
    out[MARK_LEN] = '\0';
}

static void add_marks(struct buf *out, const struct catalog *catalog, enum target_kind kind,
                      bool templates)
{
    for (size_t i = 0; i < catalog_count(catalog, kind, templates); i++) {
        const struct target *target = catalog_at(catalog, kind, templates, i);
        char mark[MARK_LEN + 1];
        mark_of(mark, kind, target->name, target_version(target));
        buf_fmt(out, "%s,", mark);
    }
}

static void record_write(struct nodes *nodes)
{
    const struct catalog *catalog = nodes->engine->catalog;
    struct buf *out = &nodes->record;

    if (out->len)
        return;
    if (!nodes->started_ms)
        nodes->started_ms = engine_now(nodes->engine);
    buf_fmt(out, "1 %lld %s", (long long)nodes->started_ms, nodes->left ? "left" : "here ");
    if (!catalog || nodes->left)
        return;
    add_marks(out, catalog, TARGET_TOOL, false);
    add_marks(out, catalog, TARGET_PROMPT, false);
    add_marks(out, catalog, TARGET_RESOURCE, false);
    add_marks(out, catalog, TARGET_RESOURCE, true);
}

static void node_put(struct nodes *nodes, int64_t ttl_ms, store_done *done, void *data)
{
    struct engine *engine = nodes->engine;

    record_write(nodes);
    engine->store->ops->put(engine->store, NODE_KIND, engine->node, buf_str(&nodes->record),
                            STR_NONE, 0, ttl_ms, done, data);
}

static void node_put_done(void *data, nod_status status, const struct store_reply *reply)
{
    struct nodes *nodes = data;

    (void)
        status; /* the heartbeat says that the store is away, and the next one brings the record */
    (void)reply;
    nodes->putting = false;
}

void node_beat(struct engine *engine, int64_t ttl_ms)
{
    struct nodes *nodes = engine->nodes;

    if (!engine->store->ops->shared || nodes->left || nodes->putting)
        return;
    nodes->ttl_ms = ttl_ms;
    nodes->putting = true;
    node_put(nodes, ttl_ms, node_put_done, nodes);
}

void node_targets_changed(struct engine *engine)
{
    struct nodes *nodes = engine->nodes;

    if (nodes->left)
        return;
    buf_clear(&nodes->record);
    if (nodes->ttl_ms)
        node_beat(engine, nodes->ttl_ms);
}

static void leave_send(struct op *op)
{
    struct nodes *nodes = OP_OF(op, struct nodes, leave);

    node_put(nodes, STORE_ABANDONED_MS, op_completed, op);
}

static void leave_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    (void)reply;
    LOG_DEBUG("the store knows that this node was told to stop",
              LOG_CSTR("status", nod_status_name(status)));
    OP_OF(op, struct nodes, leave)->leaving = false;
}

void engine_leave(struct engine *engine)
{
    struct nodes *nodes = engine->nodes;

    if (nodes->left || !engine_survives(engine))
        return;
    nodes->left = nodes->leaving = true;
    buf_clear(&nodes->record);
    op_start(engine, &nodes->leave, leave_send, leave_done);
    nodes->leave.most = INT_MAX;
    suspects_leave(engine);
}

bool engine_is_leaving(const struct engine *engine)
{
    return engine->nodes->leaving;
}

bool node_is_told_to_stop(const struct engine *engine)
{
    return engine->nodes->left;
}

/* --- the records of all nodes --- */

static void node_row(void *data, const struct store_row *row)
{
    struct nodes *nodes = OP_OF(data, struct nodes, read);
    struct arena *arena = &nodes->fresh_arena;
    struct str version, started, word, marks = STR_NONE;
    struct node_seen node = { .next = nodes->fresh };

    if (!row->value || !str_cut(row->value->value, ' ', &version, &started) ||
        !str_eq(version, STR("1")) || !str_cut(started, ' ', &started, &word) ||
        !str_to_i64(started, &node.started_ms))
        return; /* of a newer nod */
    node.left = str_eq(word, STR("left"));
    if (!node.left && !(str_cut(word, ' ', &word, &marks) && str_eq(word, STR("here"))))
        return;
    node.name = arena_str(arena, row->value->key);
    node.marks = arena_str(arena, marks);
    struct node_seen *kept = ARENA_NEW(arena, struct node_seen);
    if (!kept)
        return;
    *kept = node;
    nodes->fresh = kept;
}

static void nodes_read_send(struct op *op)
{
    struct nodes *nodes = OP_OF(op, struct nodes, read);
    struct store *store = op->engine->store;

    store->ops->list(store,
                     &(struct store_list){ .kind = NODE_KIND,
                                           .cursor = str_n(nodes->cursor, nodes->cursor_len),
                                           .limit = NODES_ROWS },
                     node_row, op_completed, op);
}

static void nodes_read_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct nodes *nodes = OP_OF(op, struct nodes, read);
    struct arena old = nodes->arena;

    if (status == NOD_OK && reply->cursor.len && reply->cursor.len <= NODES_CURSOR_MAX) {
        nodes->cursor_len = reply->cursor.len;
        memcpy(nodes->cursor, reply->cursor.at, reply->cursor.len);
        op_start(op->engine, op, nodes_read_send, nodes_read_done);
        return;
    }
    nodes->reading = false;
    if (status != NOD_OK)
        return; /* whoever needs them asks again */
    nodes->known = true;
    nodes->known_since = nodes->began;
    nodes->seen = nodes->fresh;
    nodes->arena = nodes->fresh_arena;
    nodes->fresh_arena = old;
    suspects_next(op->engine);
}

bool nodes_known(struct engine *engine, int64_t since)
{
    struct nodes *nodes = engine->nodes;

    if (nodes->known && nodes->known_since >= since)
        return true;
    if (nodes->reading)
        return false;
    nodes->reading = true;
    nodes->began = clock_mono(engine->clock);
    nodes->cursor_len = 0;
    nodes->fresh = NULL;
    arena_finish(&nodes->fresh_arena);
    arena_init(&nodes->fresh_arena, NODES_BYTES_MAX);
    op_start(engine, &nodes->read, nodes_read_send, nodes_read_done);
    return false;
}

bool node_has_left(const struct engine *engine, struct str name)
{
    for (const struct node_seen *at = engine->nodes->seen; at; at = at->next)
        if (str_eq(at->name, name))
            return at->left;
    return false;
}

bool node_is_there(const struct engine *engine, struct str name)
{
    for (const struct node_seen *at = engine->nodes->seen; at; at = at->next)
        if (str_eq(at->name, name))
            return !at->left;
    return false;
}

size_t nodes_younger(const struct engine *engine, struct str but)
{
    const struct nodes *nodes = engine->nodes;
    size_t younger = 0;

    for (const struct node_seen *at = nodes->seen; at; at = at->next) {
        int order = str_cmp(at->name, engine->node);
        if (at->left || order == 0 || str_eq(at->name, but))
            continue;
        younger += at->started_ms > nodes->started_ms ||
                   (at->started_ms == nodes->started_ms && order > 0);
    }
    return younger;
}

static bool has_mark(struct str marks, struct str mark)
{
    struct str one;

    while (str_cut(marks, ',', &one, &marks))
        if (str_eq(one, mark))
            return true;
    return false;
}

bool nodes_have_target(const struct engine *engine, const struct call_record *record)
{
    char mark[MARK_LEN + 1];

    mark_of(mark, record->kind, record->target, record->version);
    for (const struct node_seen *at = engine->nodes->seen; at; at = at->next)
        if (!at->left && !str_eq(at->name, engine->node) && has_mark(at->marks, str_of(mark)))
            return true;
    return false;
}

/* --- the whole --- */

void nodes_init(struct engine *engine)
{
    struct nodes *nodes = MEM_NEW(struct nodes);

    nodes->engine = engine;
    buf_init(&nodes->record, NODE_RECORD_MAX);
    arena_init(&nodes->arena, NODES_BYTES_MAX);
    arena_init(&nodes->fresh_arena, NODES_BYTES_MAX);
    engine->nodes = nodes;
}

void nodes_drop(struct engine *engine)
{
    struct nodes *nodes = engine->nodes;

    op_abandon(&nodes->leave);
    op_abandon(&nodes->read);
    buf_finish(&nodes->record);
    arena_finish(&nodes->arena);
    arena_finish(&nodes->fresh_arena);
    mem_free(nodes);
    engine->nodes = NULL;
}
