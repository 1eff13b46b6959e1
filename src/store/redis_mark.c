/*
 * store/redis: which secret the store is sealed with, and records of another.
 *
 * The mark (store/mark.h) is a key of its own, {00}mark. Of servers that begin on an empty Redis at
 * the same moment one sets it (NX), and all read what is there then. It is read again now and then:
 * another server may have set it in the meantime, a reseal may have renewed it, and a Redis that
 * has lost everything gets another.
 *
 * At the start a few records of every shard are looked at: the questions that wait longest, the
 * newest, calls that run or could, and small records.
 */
#include <stdio.h>

#include "base/log.h"
#include "store/redis_inside.h"

enum {
    MARK_TURN_MS = 20, /* the longest wait for replies in one turn of the loop */
    MARK_EACH = 2,     /* records of each kind and shard that are looked at */
};

struct waited { /* an operation that the loop is turned for */
    bool over;
    nod_status status;
};

static void wait_over(void *data, nod_status status, const struct store_reply *reply)
{
    struct waited *waited = data;

    (void)reply;
    waited->over = true;
    waited->status = status;
}

static nod_status wait_for(struct redis_op *op, const struct waited *waited)
{
    struct redis_store *store = op->store;

    redis_op_send(op);
    while (!waited->over)
        loop_turn(store->loop, MARK_TURN_MS);
    return waited->status;
}

/* --- the mark --- */

typedef char mark_text[MARK_TEXT_MAX + 1]; /* as it was read; "": there is none */

/* Sets it, if `how` says so (NX: unless there is one; "": in any case), and reads it. */
static void mark_say(struct redis_op *op, const char *how)
{
    struct str key = redis_shard_key(op, 0, "mark", STR_NONE);

    if (how)
        redis_op_say(op,
                     (struct str[]){ STR("SET"), key, mark_make(op->store->codec.ring, &op->arena),
                                     str_of(how) },
                     how[0] ? 4 : 3);
    redis_op_say(op, (struct str[]){ STR("GET"), key }, 2);
}

static void mark_reply(struct redis_op *op, size_t at, const struct redis_value *value)
{
    if (at + 1 == op->expected)
        snprintf((char *)(uintptr_t)op->with, sizeof(mark_text), STR_FMT,
                 STR_ARG(value->type == REDIS_IS_TEXT ? value->text : STR("")));
}

static const struct redis_verb mark_verb = { "mark", mark_reply };

static nod_status mark_get(struct redis_store *store, const char *how, mark_text out)
{
    struct waited waited = { 0 };
    struct redis_op *op = redis_op_new(store, &mark_verb, wait_over, &waited);

    out[0] = '\0';
    op->with = out;
    mark_say(op, how);
    return wait_for(op, &waited);
}

/* --- a look at the records --- */

enum { LOOK_NAMES, LOOK_RECORDS };

struct glance { /* a record that is looked at */
    struct glance *next;
    enum codec_kind kind;
    struct str key, field, id, scope;
};

struct looking {
    struct mark_look look;
    struct glance *first, **end, *at;
};

static void glance_add(struct redis_op *op, struct looking *looking, struct glance glance)
{
    struct glance *made = ARENA_NEW(&op->arena, struct glance);

    if (!made)
        return;
    *made = glance;
    *looking->end = made;
    looking->end = &made->next;
}

static void glance_at_call(struct redis_op *op, struct looking *looking, struct str call,
                           struct str ask)
{
    if (!redis_is_id(call))
        return;
    call = redis_copy(op, call);
    struct str key = redis_key(op, call, "c:", call);
    glance_add(op, looking,
               (struct glance){ .kind = CODEC_CALL, .key = key, .field = STR("c"), .id = call });
    if (redis_is_id(ask))
        glance_add(op, looking,
                   (struct glance){ .kind = CODEC_ASK,
                                    .key = key,
                                    .field = arena_fmt(&op->arena, "q" STR_FMT, STR_ARG(ask)),
                                    .id = redis_copy(op, ask) });
}

/* N:KIND:KEY; N is the length of KIND. */
static void glance_at_value(struct redis_op *op, struct looking *looking, struct str member)
{
    struct str digits, rest;
    uint64_t len;

    if (!str_cut(member, ':', &digits, &rest) || !str_to_u64(digits, &len) || len >= rest.len)
        return;
    struct str kind = redis_copy(op, str_n(rest.at, (size_t)len));
    struct str id = redis_copy(op, str_skip(rest, (size_t)len + 1));
    glance_add(op, looking,
               (struct glance){ .kind = CODEC_VALUE,
                                .key = redis_key(op, id, "k:", member),
                                .field = STR("d"),
                                .id = id,
                                .scope = kind });
}

/* What each shard is asked, in the order of the replies. */
enum { ASK_OLDEST, ASK_NEWEST, ASK_LIVE, ASK_SMALL, SHARD_ASKED };

static void look_reply(struct redis_op *op, size_t at, const struct redis_value *value)
{
    struct looking *looking = (struct looking *)(uintptr_t)op->with;

    if (op->phase == LOOK_RECORDS) {
        const struct glance *glance = looking->at;
        if (value->type == REDIS_IS_TEXT)
            mark_saw(&looking->look, op->store->codec.ring, glance->kind, glance->id, glance->scope,
                     value->text);
        looking->at = glance->next;
        return;
    }
    for (size_t i = 0; i < (value->type == REDIS_IS_LIST ? value->count : 0); i++) {
        struct str member = redis_text(&value->items[i]);

        if (at % SHARD_ASKED == ASK_SMALL)
            glance_at_value(op, looking, member);
        else if (at % SHARD_ASKED == ASK_LIVE)
            glance_at_call(op, looking, member, STR_NONE);
        else if (member.len > 2 * ID_LEN) /* the ask, its call, its principal */
            glance_at_call(op, looking, str_n(member.at + ID_LEN, ID_LEN),
                           str_n(member.at, ID_LEN));
    }
    if (at + 1 < op->expected || !looking->first)
        return;
    redis_op_more(op);
    looking->at = looking->first;
    for (const struct glance *glance = looking->first; glance; glance = glance->next)
        redis_op_say(op, (struct str[]){ STR("HGET"), glance->key, glance->field }, 3);
}

static const struct redis_verb look_verb = { "look at the records", look_reply };

static nod_status redis_look_around(struct redis_store *store, struct looking *looking)
{
    struct waited waited = { 0 };
    struct redis_op *op = redis_op_new(store, &look_verb, wait_over, &waited);

    looking->end = &looking->first;
    op->with = looking;
    struct str most = redis_digits(op, MARK_EACH), last = redis_digits(op, MARK_EACH - 1);
    for (unsigned i = 0; i < REDIS_SHARDS; i++) {
        struct str asks = redis_shard_key(op, i, "a", STR_NONE);
        struct str live = redis_shard_key(op, i, "i", STR_NONE);
        struct str small = redis_shard_key(op, i, "l", STR_NONE);
        redis_op_say(op,
                     (struct str[]){ STR("ZRANGEBYSCORE"), asks, STR("0"), STR("+inf"),
                                     STR("LIMIT"), STR("0"), most },
                     7);
        redis_op_say(op,
                     (struct str[]){ STR("ZREVRANGEBYSCORE"), asks, STR("+inf"), STR("0"),
                                     STR("LIMIT"), STR("0"), most },
                     7);
        redis_op_say(op, (struct str[]){ STR("ZRANGE"), live, STR("0"), last }, 4);
        redis_op_say(op, (struct str[]){ STR("ZRANGE"), small, STR("0"), last }, 4);
    }
    return wait_for(op, &waited);
}

/* --- at the start --- */

bool redis_mark_check(struct redis_store *store, char why[REDIS_WHY_MAX])
{
    struct keyring *ring = store->codec.ring;
    struct looking looking = { 0 };
    mark_text mark;

    _Static_assert((int)MARK_WHY_MAX == (int)REDIS_WHY_MAX, "the messages fit");
    if (store->mark == MARK_IGNORED)
        return true;
    if (mark_get(store, NULL, mark) != NOD_OK ||
        (store->mark == MARK_CHECKED && redis_look_around(store, &looking) != NOD_OK)) {
        snprintf(why, REDIS_WHY_MAX, "what it holds cannot be read");
        return false;
    }
    if (!mark[0] && store->mark == MARK_CHECKED) {
        if (!mark_allows(&looking.look, ring, why))
            return false;
        if (ring)
            mark_get(store, "NX", mark); /* a Redis that takes no writes gets it later */
    }
    if (mark[0] && !mark_opens(ring, str_of(mark), why))
        return false;
    store->codec.foreign = looking.look.foreign;
    redis_mark_met(store);
    return true;
}

bool redis_mark_renew(struct redis_store *store)
{
    mark_text mark;

    return mark_get(store, "", mark) == NOD_OK;
}

/* --- while it runs --- */

void redis_mark_met(struct redis_store *store)
{
    if (!store->codec.foreign.key[0] || store->foreign_told)
        return;
    store->foreign_told = true;
    mark_foreign_log("redis", store->codec.foreign.key, store->codec.ring);
}

static void foreign_looked(void *data, nod_status status, const struct store_reply *reply)
{
    struct redis_store *store = data;

    (void)reply;
    store->foreign_asked = false;
    if (status != NOD_OK && status != NOD_E_NOT_FOUND)
        return;
    store->codec.foreign = (struct foreign_record){ 0 };
    store->foreign_told = false;
}

static void seen_reply(struct redis_op *op, size_t at, const struct redis_value *value)
{
    if (at + 1 < op->expected)
        return;
    if (value->type == REDIS_IS_TEXT) {
        bool fits = mark_opens(op->store->codec.ring, value->text, op->store->mark_why);

        if (!fits && !op->store->misfit)
            LOG_ERROR(
                "the store was sealed with a secret that this server does not have: it is not "
                "ready",
                LOG_CSTR("store", "redis"), LOG_CSTR("why", op->store->mark_why));
        op->store->misfit = !fits;
    } else if (op->phase == 0 && op->store->codec.ring) {
        redis_op_more(op);
        mark_say(op, "NX");
    }
}

static const struct redis_verb seen_verb = { "mark", seen_reply };

void redis_mark_look(struct redis_store *store)
{
    if (store->codec.foreign.key[0] && !store->foreign_asked)
        store->foreign_asked =
            mark_foreign_look(&store->store, &store->codec.foreign, foreign_looked, store);
    if (store->mark != MARK_CHECKED)
        return;
    struct redis_op *op = redis_op_new(store, &seen_verb, NULL, NULL);
    mark_say(op, NULL);
    redis_op_send(op);
}

bool redis_opens(struct store *base, struct str *why)
{
    struct redis_store *store = redis_of(base);

    if (!store->misfit && !store->codec.foreign.key[0])
        return true;
    if (!store->misfit)
        mark_foreign_why(store->codec.foreign.key, store->mark_why);
    *why = str_of(store->mark_why);
    return false;
}
