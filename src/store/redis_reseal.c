/*
 * store/redis: seals every record with the newest secret, while servers use them.
 *
 * Walks the keys that hold records, kind by kind, with SCAN. A key is read, and each record in it
 * that an older secret sealed is replaced if it is still what was read (SCRIPT_RESEAL). Then the
 * key is read again; it is left only when nothing in it had to be done. So changes of a server in
 * between are seen, and a run that was stopped is simply begun again. A server that seals with the
 * newest secret adds no work. One that does not might do so for ever, so the number of tries is
 * bounded.
 *
 * When all is done the mark of the store is renewed (store/mark.h), unless a record was met whose
 * secret is missing: from then on the newest secret alone will do.
 *
 * Holds always: a record is replaced only by itself, bound to what it was bound to, and lives no
 * longer than before. A record that does not open stays as it is, is named in the log, and is still
 * refused by the servers. Records are counted in the last reading of their key; a key that SCAN
 * names twice, as it may while keys come and go, is counted twice.
 */
#include "store/redis_inside.h"

#include <stdio.h>

enum {
    RESEAL_KEYS_MOST = 128,     /* keys that one step of the walk names */
    RESEAL_AT_ONCE_MOST = 4,    /* keys that are worked on at the same time */
    RESEAL_BYTES = 1 << 20,     /* bytes of records written before their key is read again */
    RESEAL_FRUITLESS_MOST = 64, /* readings of one key in which nothing could be replaced */
    RESEAL_TURN_MS = 20,        /* the longest wait for replies in one turn of the loop */
};

struct resealing;
struct item;

struct walk {
    const char *letter; /* after the shard */
    const char *type;
    bool (*named)(struct item *item, struct str tail);
    void (*read)(struct redis_op *op, const struct item *item);
    void (*found)(struct redis_op *op, const struct redis_value *value);
};

struct item { /* a key */
    struct item *next;
    const struct walk *walk;
    struct str key;
    struct str id; /* what its records are bound to */
};

struct resealing {
    struct redis_store *store;
    struct reseal_counts *counts;
    bool plain;
    struct codec quiet;  /* logs nothing */
    struct arena opened; /* for one record */
    struct arena naming; /* for the items of one step */
    struct item *first, **end;
    size_t busy; /* operations on their way */
    size_t walk;
    uint64_t cursor;
    nod_status status;
};

struct visit { /* the state of an operation on a key */
    struct resealing *work;
    const struct item *item;
    size_t seen, refused; /* in this reading */
    bool asked;           /* the replies are those of SCRIPT_RESEAL */
    bool changed;         /* one of them replaced a record */
    int fruitless;
};

static struct visit *visit_of(const struct redis_op *op)
{
    return (struct visit *)(uintptr_t)op->with;
}

/* --- one record --- */

static nod_status reseal_record(struct redis_op *op, struct codec *codec, enum codec_kind kind,
                                struct str id, struct str field, struct str record)
{
    struct resealing *work = visit_of(op)->work;
    struct buf *made = &work->store->record;

    arena_reset(&work->opened);
    buf_clear(made);
    nod_status status = codec_reseal(codec, kind, id, record, work->plain, &work->opened, made);
    if (status == NOD_OK && made->len &&
        (op->expected == 0 || op->bytes.len + record.len + made->len <= RESEAL_BYTES))
        redis_op_script(op, SCRIPT_RESEAL, &visit_of(op)->item->key, 1,
                        (struct str[]){ field, record, buf_str(made) }, 3);
    buf_clear(made);
    return status;
}

/* --- calls --- */

static bool call_named(struct item *item, struct str tail)
{
    item->id = tail;
    return redis_is_id(tail);
}

static void call_read(struct redis_op *op, const struct item *item)
{
    redis_op_say(op, (struct str[]){ STR("HGETALL"), item->key }, 2);
}

/* The kind of the field, and what it is bound to. False: it is not a record. */
static bool field_is(struct str call, struct str field, struct str record, enum codec_kind *kind,
                     struct str *id)
{
    static const struct {
        char letter;
        enum codec_kind kind;
        bool ask; /* an ask's id follows */
    } known[] = { { 'c', CODEC_CALL, false },    { 'r', CODEC_RESULT, false },
                  { 'k', CODEC_CALL, false },    { 'j', CODEC_ENTRIES, false },
                  { 'y', CODEC_ENTRIES, false }, { 'q', CODEC_ASK, true },
                  { 'a', CODEC_ANSWER, true },   { 'z', CODEC_ANSWER, true } };

    for (size_t i = 0; field.len && i < sizeof(known) / sizeof(known[0]); i++) {
        if (field.at[0] != known[i].letter)
            continue;
        *kind = known[i].kind;
        *id = known[i].ask ? str_skip(field, 1) : call;
        /* an ask that has ended */
        bool named = *kind == CODEC_ENTRIES && str_starts(record, STR("@"));
        return redis_is_id(*id) && !named;
    }
    return false;
}

/* Refused records are logged only when the key is left, so that each is named once. */
static void call_fields(struct redis_op *op, const struct redis_value *pairs, bool loud)
{
    struct visit *visit = visit_of(op);
    struct codec *codec = loud ? &visit->work->store->codec : &visit->work->quiet;

    visit->seen = visit->refused = 0;
    for (size_t i = 0; i + 1 < (pairs->type == REDIS_IS_LIST ? pairs->count : 0); i += 2) {
        struct str field = redis_text(&pairs->items[i]), record = redis_text(&pairs->items[i + 1]);
        enum codec_kind kind;
        struct str id;
        if (!field_is(visit->item->id, field, record, &kind, &id))
            continue;
        visit->seen++;
        if (reseal_record(op, codec, kind, id, field, record) != NOD_OK)
            visit->refused++;
    }
}

static void call_found(struct redis_op *op, const struct redis_value *value)
{
    call_fields(op, value, false);
    if (op->expected == 0 && visit_of(op)->refused)
        call_fields(op, value, true);
}

/* --- small records --- */

/* N:KIND:KEY; N is the length of KIND. */
static bool value_named(struct item *item, struct str tail)
{
    struct str digits, rest;
    uint64_t len;

    if (!str_cut(tail, ':', &digits, &rest) || !str_to_u64(digits, &len) || len >= rest.len ||
        rest.at[len] != ':')
        return false;
    item->id = str_skip(rest, (size_t)len + 1);
    return true;
}

static void value_read(struct redis_op *op, const struct item *item)
{
    redis_op_say(op, (struct str[]){ STR("HGET"), item->key, STR("d") }, 3);
}

static void value_found(struct redis_op *op, const struct redis_value *value)
{
    struct visit *visit = visit_of(op);
    struct str field = STR("d"), id = visit->item->id, record = redis_text(value);

    visit->seen = value->type == REDIS_IS_TEXT;
    visit->refused = visit->seen && reseal_record(op, &visit->work->store->codec, CODEC_VALUE, id,
                                                  field, record) != NOD_OK;
}

static const struct walk walks[] = {
    { "c:", "hash", call_named, call_read, call_found },
    { "k:", "hash", value_named, value_read, value_found },
};
enum { WALKS = sizeof(walks) / sizeof(walks[0]) };

/* --- one key --- */

static void work_on(struct resealing *work);

static void visit_read(struct redis_op *op)
{
    struct visit *visit = visit_of(op);

    visit->asked = visit->changed = false;
    visit->item->walk->read(op, visit->item);
    op->shard = redis_shard(visit->item->id);
}

static void replaced(struct redis_op *op, size_t at, const struct redis_value *value)
{
    struct visit *visit = visit_of(op);

    if (redis_number(value) == 1) {
        visit->changed = true;
        visit->work->counts->resealed++;
    }
    if (at + 1 < op->expected)
        return;
    visit->fruitless = visit->changed ? 0 : visit->fruitless + 1;
    if (visit->fruitless >= RESEAL_FRUITLESS_MOST) {
        op->status = NOD_E_STALE;
        return;
    }
    redis_op_more(op);
    visit_read(op);
}

static void visit_reply(struct redis_op *op, size_t at, const struct redis_value *value)
{
    struct visit *visit = visit_of(op);
    unsigned shard = op->shard;

    if (visit->asked) {
        replaced(op, at, value);
        return;
    }
    redis_op_more(op);
    visit->asked = true;
    visit->item->walk->found(op, value);
    op->shard = shard;
    if (op->expected > 0)
        return;
    op->more = false; /* there is nothing to do */
    visit->work->counts->records += visit->seen;
    visit->work->counts->refused += visit->refused;
}

static const struct redis_verb visit_verb = { "reseal", visit_reply };

static void op_done(void *data, nod_status status, const struct store_reply *reply)
{
    struct resealing *work = data;

    (void)reply;
    work->busy--;
    if (work->status == NOD_OK)
        work->status = status;
    work_on(work);
}

static void visit_begin(struct resealing *work, const struct item *item)
{
    struct redis_op *op = redis_op_new(work->store, &visit_verb, op_done, work);
    struct visit *visit = ARENA_NEW(&op->arena, struct visit);

    work->busy++;
    if (!visit) {
        redis_op_end(op, NOD_E_LIMIT);
        return;
    }
    *visit = (struct visit){ .work = work, .item = item };
    op->with = visit;
    visit_read(op);
    redis_op_send(op);
}

/* --- the walk --- */

enum { SHARD_TAG = 4 }; /* bytes of {NN} */

static void names_reply(struct redis_op *op, size_t at, const struct redis_value *value)
{
    struct resealing *work = op->data;
    const struct walk *walk = &walks[work->walk];
    const struct redis_value *keys = redis_item(value, 1);
    size_t before = strlen(work->store->url.prefix) + SHARD_TAG + strlen(walk->letter);

    (void)at;
    if (!str_to_u64(redis_text(redis_item(value, 0)), &work->cursor)) {
        redis_op_refused(op, value);
        return;
    }
    if (work->cursor == 0)
        work->walk++;
    for (size_t i = 0; i < (keys->type == REDIS_IS_LIST ? keys->count : 0); i++) {
        struct item *made = ARENA_NEW(&work->naming, struct item);
        struct str key = arena_str(&work->naming, redis_text(&keys->items[i]));
        if (!made || key.len < before)
            continue;
        *made = (struct item){ .walk = walk, .key = key };
        if (!walk->named(made, str_skip(key, before)))
            continue;
        *work->end = made;
        work->end = &made->next;
    }
    if (work->naming.exhausted)
        op->status = NOD_E_LIMIT;
}

static const struct redis_verb names_verb = { "reseal: name the keys", names_reply };

struct str redis_pattern(struct redis_op *op, const char *letter)
{
    char prefix[2 * REDIS_PREFIX_MAX + 1];
    size_t len = 0;

    for (const char *at = op->store->url.prefix; *at; at++) {
        if (strchr("*?[]\\", *at))
            prefix[len++] = '\\';
        prefix[len++] = *at;
    }
    prefix[len] = '\0';
    return arena_fmt(&op->arena, "%s{[0-9][0-9]}%s*", prefix, letter);
}

static void work_on(struct resealing *work)
{
    while (work->status == NOD_OK && work->first && work->busy < RESEAL_AT_ONCE_MOST) {
        struct item *item = work->first;
        work->first = item->next;
        if (!work->first)
            work->end = &work->first;
        visit_begin(work, item);
    }
    if (work->status == NOD_OK && work->busy == 0 && work->walk < WALKS) {
        struct redis_op *op = redis_op_new(work->store, &names_verb, op_done, work);
        const struct walk *walk = &walks[work->walk];
        struct str cursor = arena_fmt(&op->arena, "%llu", (unsigned long long)work->cursor);

        work->busy++;
        arena_reset(&work->naming);
        redis_op_say(op,
                     (struct str[]){ STR("SCAN"), cursor, STR("MATCH"),
                                     redis_pattern(op, walk->letter), STR("COUNT"),
                                     redis_digits(op, RESEAL_KEYS_MOST), STR("TYPE"),
                                     str_of(walk->type) },
                     8);
        redis_op_send(op);
    }
}

static const char *reason(nod_status status)
{
    return status == NOD_E_STALE ? "records change as fast as they are sealed anew: does a server "
                                   "that uses it still seal with an older secret?"
           : status == NOD_E_LIMIT ? "what it holds is larger than can be read"
                                   : "it could not be read or written to the end; run this again";
}

bool redis_store_reseal(const struct redis_opts *opts, bool plain, struct reseal_counts *counts,
                        char why[REDIS_WHY_MAX])
{
    *counts = (struct reseal_counts){ 0 };
    if (!opts->ring) {
        snprintf(why, REDIS_WHY_MAX, "no secret is set: there is nothing to seal with");
        return false;
    }
    struct redis_opts with = *opts;
    with.mark = MARK_RESEALS;
    struct store *store = redis_store_open(&with, why);
    if (!store)
        return false;
    struct resealing work = { .store = redis_of(store), .counts = counts, .plain = plain };
    work.quiet = (struct codec){ .ring = work.store->codec.ring };
    work.end = &work.first;
    arena_init(&work.opened, REDIS_OP_BYTES);
    arena_init(&work.naming, REDIS_OP_BYTES);
    work_on(&work);
    while (work.busy)
        loop_turn(opts->loop, RESEAL_TURN_MS);
    if (work.status == NOD_OK && !work.store->codec.foreign.key[0] && !redis_mark_renew(work.store))
        work.status = NOD_E_STORE;
    if (work.status != NOD_OK)
        snprintf(why, REDIS_WHY_MAX, "%s", reason(work.status));
    arena_finish(&work.naming);
    arena_finish(&work.opened);
    store->ops->destroy(store);
    return work.status == NOD_OK;
}
