/*
 * store/redis: claims.
 *
 * A claim becomes one script with its items: the answers, written and sealed here, and what Redis
 * has to see. The call's scope has to be known for that, and that all asks belong to one call.
 * Mostly both are remembered (redis_known.c). If not, the operation reads them first, and keeps its
 * arguments in the meantime.
 *
 * Redis does not see what was answered. So for a `whole` submission the script first reports which
 * asks were ended before through the same `via`. Here it is found out whether that was another
 * answer. If it was the same, the claim is sent again and says so. An ask that has ended never
 * changes, so what was found stays true.
 *
 * A claim that may take the call reads it right after the script, in the same batch of commands. If
 * the call has moved on in between, its epoch or state shows it.
 *
 * One thing differs from a store that sees content: a claim whose asks are remembered here happens
 * before their records are read. So if a record was tampered with, that is noticed after the claim.
 * If the claim took the call, and the call cannot be read, it is given back: the claim has won, and
 * another node may be able to run the call.
 */
#include "store/claim_rules.h"
#include "store/redis_inside.h"
#include "store/specs.h"

_Static_assert(ASK_PENDING == 0 && ASK_ACCEPTED == 1 && ASK_DECLINED == 2 && ASK_CANCELLED == 3 &&
                   ASK_EXPIRED == 4 && ASK_WITHDRAWN == 5 && ASK_UNSUPPORTED == 6 &&
                   ASK_INVALID == 7,
               "the scripts know the states of an ask by number");

enum { CLAIM_POINTERS, CLAIM_ASKS, CLAIM_NOW, CLAIM_READ, CLAIM_BACK };
enum { CLAIM_WORDS = 10, ITEM_WORDS = 7, SHOWN_WORDS = 3 };
enum { VERDICT_REFUSED = 2, VERDICT_MIXES = 5 };

struct claiming { /* the arguments, in the operation's arena */
    struct claim_spec spec;
    bool *same;      /* it ended with this very answer */
    bool *sensitive; /* for each ask */
    bool *won;       /* for each ask, what the script said: whether it was won, and its state */
    struct redis_value *shown;
    int64_t verdict;
    nod_status then; /* of a claim whose call is being given back */
    struct str scope;
};

static struct claiming *claim_keep(struct redis_op *op, const struct claim_spec *spec)
{
    struct claiming *made = ARENA_NEW(&op->arena, struct claiming);

    if (!made || !claim_copy(&op->arena, spec, &made->spec))
        return NULL;
    made->same = arena_zalloc(&op->arena, spec->count * sizeof(*made->same));
    made->sensitive = arena_zalloc(&op->arena, spec->count * sizeof(*made->sensitive));
    made->won = arena_zalloc(&op->arena, spec->count * sizeof(*made->won));
    made->shown = arena_zalloc(&op->arena, SHOWN_WORDS * spec->count * sizeof(*made->shown));
    return op->arena.exhausted ? NULL : made;
}

static void item_words(struct redis_op *op, const struct claiming *claiming, size_t at,
                       struct str *words)
{
    struct redis_store *store = op->store;
    const struct claim_item *item = &claiming->spec.items[at];
    struct ask_record answer = { .id = item->ask_id,
                                 .scope = claiming->scope,
                                 .state = item->outcome,
                                 .content = item->content,
                                 .by = claiming->spec.by,
                                 .note = item->note,
                                 .ended_ms = redis_now(store) };

    words[0] = item->ask_id;
    words[1] = redis_digits(op, item->outcome);
    words[2] = words[3] = STR_NONE;
    words[5] = item->again ? STR("1") : STR("0");
    if (item->turn) {
        char came[CLAIM_CAME_LEN];
        claim_came(item, came);
        words[5] = redis_copy(op, str_n(came, sizeof(came)));
    } else if (!item->again) {
        words[2] = redis_kept(op, codec_write_answer(&store->codec, &answer, &store->record));
        answer.content = STR_NONE;
        if (claiming->sensitive[at])
            words[3] = redis_kept(op, codec_write_answer(&store->codec, &answer, &store->record));
    }
    words[4] = redis_digits(op, item->attempt);
    words[6] = claiming->same[at] ? STR("1") : STR("0");
}

static void claim_say(struct redis_op *op, const struct claiming *claiming)
{
    struct redis_store *store = op->store;
    const struct claim_spec *spec = &claiming->spec;
    struct str call = id_str(&op->call);
    size_t count = CLAIM_WORDS + ITEM_WORDS * spec->count;
    struct str *words = arena_alloc(&op->arena, count * sizeof(*words));

    if (!words)
        return; /* the arena is exhausted: nothing is sent */
    words[0] = spec->token;
    words[1] = spec->take_for;
    words[2] = call;
    words[3] = store->node;
    words[4] = store->channels;
    words[5] = spec->via;
    words[6] = spec->whole ? STR("1") : STR("0");
    words[7] = spec->handed ? STR("1") : STR("0");
    words[8] = redis_used(op);
    words[9] = spec->epoch ? redis_digits(op, (int64_t)spec->epoch) : STR_NONE;
    for (size_t i = 0; i < spec->count; i++)
        item_words(op, claiming, i, words + CLAIM_WORDS + ITEM_WORDS * i);
    struct str keys[] = { redis_key(op, call, "c:", call), redis_key(op, call, "r", STR_NONE),
                          redis_key(op, call, "d", STR_NONE) };
    redis_op_script(op, SCRIPT_CLAIM, keys, 3, words, count);
    if (spec->take_for.len)
        redis_say_call(op, id_str(&op->call));
    op->phase = CLAIM_NOW;
}

/* --- what is read first --- */

static void say_pointers(struct redis_op *op, const struct claiming *claiming)
{
    for (size_t i = 0; i < claiming->spec.count; i++) {
        struct str ask = claiming->spec.items[i].ask_id;
        redis_op_say(op, (struct str[]){ STR("GET"), redis_key(op, ask, "p:", ask) }, 2);
    }
    op->phase = CLAIM_POINTERS;
}

/* Where the ask is. If asks belong to two calls, nothing is claimed. */
static void heard_pointer(struct redis_op *op, const struct claiming *claiming, size_t at,
                          const struct redis_value *value)
{
    const struct known *known = redis_known(op->store, claiming->spec.items[at].ask_id);
    struct str call = redis_is_id(redis_text(value)) ? redis_text(value)
                      : known                        ? id_str(&known->call)
                                                     : STR_NONE;

    if (!call.len) {
        op->status = NOD_E_NOT_FOUND;
        return;
    }
    if (at == 0)
        op->call = id_of(call);
    else if (!str_eq(call, id_str(&op->call)) && op->status == NOD_OK)
        op->status = NOD_E_USAGE;
    if (at + 1 < op->expected || op->status != NOD_OK)
        return;
    redis_op_more(op);
    for (size_t i = 0; i < claiming->spec.count; i++)
        redis_say_ask(op, id_str(&op->call), claiming->spec.items[i].ask_id);
}

static void heard_ask(struct redis_op *op, struct claiming *claiming, size_t at,
                      const struct redis_value *value)
{
    struct ask_record ask;
    nod_status status =
        redis_read_ask(&op->store->codec, claiming->spec.items[at].ask_id, redis_item(value, 0),
                       redis_item(value, 1), redis_item(value, 2), &op->arena, &ask);

    if (op->status == NOD_OK)
        op->status = status;
    if (op->status != NOD_OK)
        return;
    claiming->scope = redis_copy(op, ask.scope);
    claiming->sensitive[at] = ask.sensitive;
    if (at + 1 < op->expected)
        return;
    redis_op_more(op);
    claim_say(op, claiming);
}

/* --- what became of it --- */

/* The script's own reply, kept until all replies are here. */
static void script_said(struct redis_op *op, struct claiming *claiming,
                        const struct redis_value *value)
{
    if (!redis_op_said(op, value))
        return;
    op->reply.epoch = (uint64_t)redis_number(redis_item(value, 2));
    op->reply.taken = op->reply.epoch != 0;
    op->wakes = redis_number(redis_item(value, 3)) != 0;
    claiming->verdict = redis_number(redis_item(value, 4));
    for (size_t i = 0; i < claiming->spec.count; i++)
        claiming->won[i] = redis_number(redis_item(redis_item(value, 5), i)) != 0;
    for (size_t i = 0; !op->reply.taken && i < SHOWN_WORDS * claiming->spec.count; i++)
        claiming->shown[i] = redis_keep_value(op, redis_item(redis_item(value, 6), i));
}

/* The asks as they are now. False: one cannot be read. `pairs` is the call's hash, if it was
 * taken. */
static bool read_shown(struct redis_op *op, const struct claiming *claiming,
                       const struct redis_value *pairs, struct ask_record *asks)
{
    struct codec *codec = &op->store->codec;

    for (size_t i = 0; i < claiming->spec.count && op->status == NOD_OK; i++) {
        const struct redis_value *shown = claiming->shown + SHOWN_WORDS * i;
        struct str id = claiming->spec.items[i].ask_id;
        op->status = op->reply.taken ? redis_read_ask_of(codec, pairs, id, &op->arena, &asks[i])
                                     : redis_read_ask(codec, id, &shown[0], &shown[1], &shown[2],
                                                      &op->arena, &asks[i]);
    }
    return op->status == NOD_OK;
}

/* Asks were ended before through the same `via`. True: by these very answers, and the claim goes
 * on. */
static bool goes_on(struct redis_op *op, struct claiming *claiming, const struct ask_record *asks)
{
    bool news = false;

    for (size_t i = 0; i < claiming->spec.count; i++) {
        if (asks[i].state == ASK_PENDING || !str_eq(asks[i].via, claiming->spec.via))
            continue;
        if (!claim_is_same(&asks[i], &claiming->spec, &claiming->spec.items[i]))
            return false;
        news |= !claiming->same[i];
        claiming->same[i] = true;
    }
    if (!news)
        return false;
    redis_op_more(op);
    claim_say(op, claiming);
    return true;
}

static void show(struct redis_op *op, const struct claiming *claiming,
                 const struct ask_record *asks)
{
    struct claimed *claimed = arena_alloc(&op->arena, claiming->spec.count * sizeof(*claimed));

    for (size_t i = 0; claimed && i < claiming->spec.count; i++) {
        claimed[i] = (struct claimed){ &asks[i], claiming->won[i] };
        if (asks[i].state != ASK_PENDING)
            redis_forget(op->store, asks[i].id);
    }
    if (!claimed)
        return;
    op->reply.claimed = claimed;
    op->reply.claimed_count = claiming->spec.count;
    op->reply.ask = claimed[0].ask;
    op->reply.won = claimed[0].won;
}

/* If the claim took the call, the call is given back: here it cannot be read. */
static void claim_back(struct redis_op *op, struct claiming *claiming, nod_status then)
{
    op->status = then;
    if (!op->reply.taken)
        return;
    claiming->then = then;
    op->status = NOD_OK;
    redis_op_more(op);
    op->phase = CLAIM_BACK;
    redis_say_back(op, claiming->spec.take_for.len ? claiming->spec.take_for : op->store->node,
                   op->reply.epoch);
    op->reply.taken = false;
    op->reply.epoch = 0;
}

/* All replies are here. */
static void claim_done(struct redis_op *op, struct claiming *claiming,
                       const struct redis_value *pairs)
{
    struct ask_record *asks =
        arena_zalloc(&op->arena, claiming->spec.count * sizeof(struct ask_record));
    struct call_record *call = ARENA_NEW(&op->arena, struct call_record);

    if (!asks || !call)
        return;
    if (!read_shown(op, claiming, pairs, asks)) {
        claim_back(op, claiming, op->status);
        return;
    }
    if (claiming->verdict == VERDICT_MIXES && goes_on(op, claiming, asks))
        return;
    nod_status read = NOD_OK;
    if (op->reply.taken)
        read = redis_read_call(&op->store->codec, id_str(&op->call), pairs, true, &op->arena, call);
    show(op, claiming, asks);
    nod_status status = claiming->verdict ? NOD_E_STALE : NOD_OK;
    if (read != NOD_OK) {
        for (size_t i = 0; i < claiming->spec.count; i++) /* another reply comes first */
            asks[i] = ask_record_copy(&op->arena, &asks[i]);
        claim_back(op, claiming, status);
        return;
    }
    op->status = status;
    if (op->reply.taken) {
        op->reply.call = call;
        redis_know(op->store, id_str(&op->call), id_str(&op->call), call->scope, false);
    }
}

static void claim_heard(struct redis_op *op, struct claiming *claiming, size_t at,
                        const struct redis_value *value)
{
    if (op->phase == CLAIM_NOW && at == 0)
        script_said(op, claiming, value);
    if (op->status != NOD_OK || at + 1 < op->expected)
        return;
    if (op->reply.taken && op->phase == CLAIM_NOW && op->expected == 1) {
        redis_op_more(op); /* this claim took it when it was first sent, with a node's name */
        redis_say_call(op, id_str(&op->call));
        op->phase = CLAIM_READ;
        return;
    }
    claim_done(op, claiming, value);
}

static void claim_reply(struct redis_op *op, size_t at, const struct redis_value *value)
{
    struct claiming *claiming = (struct claiming *)(uintptr_t)op->with;

    if (op->phase == CLAIM_POINTERS)
        heard_pointer(op, claiming, at, value);
    else if (op->phase == CLAIM_ASKS)
        heard_ask(op, claiming, at, value);
    else if (op->phase == CLAIM_BACK)
        op->status = claiming->then;
    else
        claim_heard(op, claiming, at, value);
}

static const struct redis_verb claim_verb = { "claim", claim_reply };

/* True: everything that has to be known is remembered. False: it has to be read. */
static bool all_known(struct redis_op *op, struct claiming *claiming)
{
    const struct known *first = redis_known(op->store, claiming->spec.items[0].ask_id);

    for (size_t i = 0; i < claiming->spec.count; i++) {
        const struct known *known = redis_known(op->store, claiming->spec.items[i].ask_id);
        if (!known || !str_eq(id_str(&known->call), id_str(&first->call)))
            return false;
        claiming->sensitive[i] = known->sensitive;
    }
    op->call = first->call;
    claiming->scope = redis_copy(op, redis_known_scope(first));
    return true;
}

void redis_claim(struct store *base, const struct claim_spec *claim, store_done *done, void *data)
{
    struct redis_op *op = redis_op_new(redis_of(base), &claim_verb, done, data);
    nod_status status = claim_check(claim);

    for (size_t i = 0; status == NOD_OK && i < claim->count; i++)
        if (!redis_is_id(claim->items[i].ask_id))
            status = NOD_E_NOT_FOUND;
    if (status == NOD_OK && !redis_plain(claim->token, claim->take_for))
        status = NOD_E_LIMIT;
    struct claiming *claiming = status == NOD_OK ? claim_keep(op, claim) : NULL;
    if (!claiming) {
        redis_op_end(op, status == NOD_OK ? NOD_E_LIMIT : status);
        return;
    }
    op->with = claiming;
    if (all_known(op, claiming))
        claim_say(op, claiming);
    else
        say_pointers(op, claiming);
    redis_op_send_or_end(op);
}
