/*
 * store/redis: the transitions of calls and asks, from this side.
 *
 * Each becomes one script with what it needs: the records, written and sealed here, and what Redis
 * has to see. For that the call's scope has to be known, and for a claim the ask's call. Mostly it
 * is (redis_known.c). If not, the operation first reads it, and holds what it was given meanwhile.
 *
 * Pointers to asks and to events go out in front of the script, in the same piece.
 *
 * What differs from a store that sees content: a claim whose ask was remembered here happens before
 * its record was looked at, so a record that was tampered with is refused after the claim.
 */
#include "core/journal.h"
#include "store/redis_inside.h"

_Static_assert(CALL_STORED_RUNNING == 0 && CALL_STORED_WAITING == 1 && CALL_STORED_RUNNABLE == 2 &&
                   CALL_STORED_FINISHED == 3 && CALL_STORED_CANCELLED == 4,
               "the scripts know the states of a call by number");
_Static_assert(ASK_PENDING == 0 && ASK_ACCEPTED == 1 && ASK_DECLINED == 2 && ASK_CANCELLED == 3 &&
                   ASK_EXPIRED == 4 && ASK_WITHDRAWN == 5 && ASK_UNSUPPORTED == 6 &&
                   ASK_INVALID == 7,
               "the scripts know the states of an ask by number");
_Static_assert(ID_LEN == 22, "the scripts cut ids by their length");

static const int64_t life_most_ms = (int64_t)100 * 365 * 24 * 3600 * 1000;

static int64_t life(int64_t ms)
{
    return ms < 0 ? 0 : ms > life_most_ms ? life_most_ms : ms;
}

static struct str digits(struct redis_op *op, int64_t n)
{
    enum { ROOM = 20 };
    char *at = arena_alloc_aligned(&op->arena, ROOM, 1);
    size_t from = ROOM;
    uint64_t left = n < 0 ? 0 : (uint64_t)n; /* none of them is negative */

    if (!at)
        return STR_NONE;
    do
        at[--from] = (char)('0' + left % 10);
    while ((left /= 10) > 0);
    return str_n(at + from, ROOM - from);
}

/* What was just written into store->record, kept with the operation. */
static struct str kept(struct redis_op *op, nod_status status)
{
    struct str text = STR_NONE;

    if (status == NOD_OK)
        text = arena_str(&op->arena, buf_str(&op->store->record));
    else if (op->status == NOD_OK)
        op->status = status;
    buf_clear(&op->store->record);
    return text;
}

static struct str channel(struct redis_op *op)
{
    return redis_channel(op->store, &op->arena, STR_NONE);
}

static struct str copy(struct redis_op *op, struct str s)
{
    return s.len ? arena_str(&op->arena, s) : STR_NONE;
}

/* What stands in a call's head has to be told apart there. */
static bool plain(struct str token, struct str node)
{
    return redis_is_id(token) && !memchr(token.at, ' ', token.len) &&
           !memchr(token.at, '\n', token.len) && (!node.len || !memchr(node.at, '\n', node.len));
}

/* Sends what was said, unless writing it has failed. */
static void send_or_end(struct redis_op *op)
{
    if (op->status != NOD_OK)
        redis_op_end(op, op->status);
    else
        redis_op_send(op);
}

/* Before the transition: the call's own record, for its scope. */
static void say_look(struct redis_op *op)
{
    struct str call = id_str(&op->call);

    redis_op_say(op, (struct str[]){ STR("HGET"), redis_key(op, call, "c:", call), STR("c") }, 3);
}

/* The reply to that. False: the operation ends here. */
static bool looked(struct redis_op *op, const struct redis_value *value, struct str *scope)
{
    struct call_record call = { 0 };

    if (value->type == REDIS_IS_NIL)
        op->status = NOD_E_NOT_FOUND;
    else
        op->status = codec_read_call(&op->store->codec, id_str(&op->call), redis_text(value),
                                     &op->arena, &call);
    *scope = copy(op, call.scope);
    if (op->status == NOD_OK)
        redis_know(op->store, id_str(&op->call), id_str(&op->call), *scope, false);
    return op->status == NOD_OK;
}

static struct str known_scope(const struct known *known)
{
    return str_n(known->scope, known->scope_len);
}

/* --- park, append ----------------------------------------------------------------------------- */

struct saving {
    struct str token, node;
    const struct call_record *open;
    uint64_t epoch;
    uint32_t notices;
    const struct entry *entries;
    size_t entry_count;
    const struct ask_record *asks;
    size_t ask_count;
    bool parks;
};

enum { SAVE_WORDS = 12, ASK_WORDS = 6 };

/* Its call, for whoever comes with its id alone. It outlives the ask for as long as the call may.
 */
static void say_pointer(struct redis_op *op, const struct ask_record *ask, int64_t keep_ms)
{
    int64_t left = ask->expires_ms ? ask->expires_ms - redis_now(op->store) : ask->ttl_ms;
    int64_t kept_ms = keep_ms > REDIS_KEEP_MS ? keep_ms : REDIS_KEEP_MS;

    redis_op_say(op,
                 (struct str[]){ STR("SET"), redis_key(op, ask->id, "p:", ask->id),
                                 id_str(&op->call), STR("PX"), digits(op, life(left) + kept_ms) },
                 5);
}

static void ask_words(struct redis_op *op, const struct ask_record *given, struct str scope,
                      struct str *words)
{
    struct ask_record ask = *given;

    ask.scope = scope;
    ask.call_id = id_str(&op->call);
    if (!redis_is_id(ask.id))
        op->status = NOD_E_LIMIT;
    words[0] = ask.id;
    words[1] = digits(op, ask.asked_ms);
    words[2] = digits(op, ask.expires_ms);
    words[3] = digits(op, life(ask.ttl_ms));
    words[4] = ask.sensitive ? STR("1") : STR("0");
    words[5] = kept(op, codec_write_ask(&op->store->codec, &ask, &op->store->record));
    redis_know(op->store, ask.id, ask.call_id, scope, ask.sensitive);
}

static struct str save_entries(struct redis_op *op, const struct saving *saving, struct str scope)
{
    if (!saving->entry_count)
        return STR_NONE;
    return kept(op, codec_write_entries(&op->store->codec, scope, id_str(&op->call),
                                        saving->entries, saving->entry_count, &op->store->record));
}

static struct str save_call(struct redis_op *op, const struct saving *saving)
{
    if (!saving->open)
        return STR_NONE;
    return kept(op, codec_write_call(&op->store->codec, saving->open, &op->store->record));
}

static void save_say(struct redis_op *op, const struct saving *saving, struct str scope)
{
    struct redis_store *store = op->store;
    struct str call = id_str(&op->call);
    int64_t keep =
        saving->open && saving->open->keep_ms > 0 ? saving->open->keep_ms : store->keep_ms;
    size_t count = SAVE_WORDS + ASK_WORDS * saving->ask_count;
    struct str *words = arena_alloc(&op->arena, count * sizeof(*words));

    if (saving->ask_count > REDIS_ASKS_MOST || !words) {
        redis_op_end(op, NOD_E_LIMIT);
        return;
    }
    words[0] = saving->token;
    words[1] = digits(op, (int64_t)saving->epoch);
    words[2] = saving->node;
    words[3] = digits(op, saving->notices);
    words[4] = saving->parks ? STR("p") : STR("a");
    words[5] = saving->open ? digits(op, life(keep)) : STR_NONE;
    words[6] = save_call(op, saving);
    words[7] = save_entries(op, saving, scope);
    words[8] = digits(op, (int64_t)saving->entry_count);
    words[9] = call;
    words[10] = store->node;
    words[11] = channel(op);
    for (size_t i = 0; i < saving->ask_count; i++) {
        ask_words(op, &saving->asks[i], scope, words + SAVE_WORDS + ASK_WORDS * i);
        say_pointer(op, &saving->asks[i], keep);
    }
    struct str keys[] = { redis_key(op, call, "c:", call), redis_key(op, call, "r", STR_NONE),
                          redis_key(op, call, "d", STR_NONE) };
    redis_op_script(op, SCRIPT_SAVE, keys, 3, words, count);
}

static void save_reply(struct redis_op *op, size_t at, const struct redis_value *value)
{
    struct str scope;

    if (op->with && op->phase == 0) { /* the call's scope was read */
        if (!looked(op, value, &scope))
            return;
        redis_op_more(op);
        save_say(op, op->with, scope);
    } else if (at + 1 == op->expected && redis_op_said(op, value)) {
        op->wakes = redis_number(redis_item(value, 2)) != 0;
        if (op->key.at) /* it was opened, for this scope */
            redis_know(op->store, id_str(&op->call), id_str(&op->call), op->key, false);
    }
}

static const struct redis_verb park_verb = { "park", save_reply };
static const struct redis_verb append_verb = { "append", save_reply };

static const struct ask_record *copy_asks(struct redis_op *op, const struct saving *saving)
{
    struct ask_record *asks =
        arena_alloc(&op->arena, (saving->ask_count + 1) * sizeof(*saving->asks));

    for (size_t i = 0; asks && i < saving->ask_count; i++) {
        const struct ask_record *ask = &saving->asks[i];
        asks[i] = *ask;
        asks[i].id = copy(op, ask->id);
        asks[i].key = copy(op, ask->key);
        asks[i].principal = copy(op, ask->principal);
        asks[i].target = copy(op, ask->target);
        asks[i].message = copy(op, ask->message);
        asks[i].detail = copy(op, ask->detail);
        asks[i].url = copy(op, ask->url);
    }
    return asks;
}

/* Everything it needs later. `open` is not among it: with it there is nothing to wait for. */
static const struct saving *copy_saving(struct redis_op *op, const struct saving *saving)
{
    struct saving *made = ARENA_NEW(&op->arena, struct saving);
    struct entry *entries =
        arena_alloc(&op->arena, (saving->entry_count + 1) * sizeof(*saving->entries));
    char *text =
        arena_alloc(&op->arena, entries_text_bytes(saving->entries, saving->entry_count) + 1);

    if (!made || !entries || !text)
        return NULL;
    *made = *saving;
    made->token = copy(op, saving->token);
    made->node = copy(op, saving->node);
    entries_copy(entries, saving->entries, saving->entry_count, &text);
    made->entries = entries;
    made->asks = copy_asks(op, saving);
    return made->asks ? made : NULL;
}

static void save(struct store *base, const struct redis_verb *verb, struct str call_id,
                 const struct saving *saving, store_done *done, void *data)
{
    struct redis_store *store = redis_of(base);
    struct redis_op *op = redis_op_new(store, verb, done, data);
    const struct known *known = redis_known(store, call_id);
    struct str scope = STR_NONE;

    bool fits = plain(saving->token, saving->node);
    if (!redis_is_id(call_id) || !fits) {
        redis_op_end(op, saving->open || !fits ? NOD_E_LIMIT : NOD_E_NOT_FOUND);
        return;
    }
    redis_id_set(&op->call, call_id);
    if (!saving->open && !known && (saving->entry_count || saving->ask_count)) {
        op->with = copy_saving(op, saving);
        if (!op->with)
            op->status = NOD_E_LIMIT;
        say_look(op);
        send_or_end(op);
        return;
    }
    if (saving->open)
        scope = saving->open->scope;
    else if (known)
        scope = known_scope(known);
    if (saving->open)
        op->key = arena_str(&op->arena, scope);
    save_say(op, saving, scope);
    if (list_empty(&op->link)) /* it was not ended for its size */
        send_or_end(op);
}

void redis_park(struct store *store, struct str token, const struct call_record *open,
                struct str node, struct str call_id, uint64_t epoch, uint32_t notices,
                const struct entry *entries, size_t entry_count, const struct ask_record *asks,
                size_t ask_count, store_done *done, void *data)
{
    struct saving saving = { token,   node,        open, epoch,     notices,
                             entries, entry_count, asks, ask_count, true };

    save(store, &park_verb, call_id, &saving, done, data);
}

void redis_append(struct store *store, struct str token, const struct call_record *open,
                  struct str node, struct str call_id, uint64_t epoch, uint32_t notices,
                  const struct entry *entries, size_t entry_count, store_done *done, void *data)
{
    struct saving saving = {
        token, node, open, epoch, notices, entries, entry_count, NULL, 0, false
    };

    save(store, &append_verb, call_id, &saving, done, data);
}

/* --- claim ------------------------------------------------------------------------------------ */

enum { CLAIM_POINTER, CLAIM_ASK, CLAIM_NOW };

struct claiming {
    struct str token;
    enum ask_state outcome;
    struct str content, by, take_for;
};

static void claim_say(struct redis_op *op, const struct claiming *claiming, struct str scope,
                      bool sensitive)
{
    struct redis_store *store = op->store;
    struct str call = id_str(&op->call), ask = id_str(&op->ask), erased = STR_NONE;
    struct ask_record answer = { .id = ask,
                                 .scope = scope,
                                 .state = claiming->outcome,
                                 .content = claiming->content,
                                 .by = claiming->by,
                                 .ended_ms = redis_now(store) };
    struct str whole = kept(op, codec_write_answer(&store->codec, &answer, &store->record));

    answer.content = STR_NONE;
    if (sensitive)
        erased = kept(op, codec_write_answer(&store->codec, &answer, &store->record));
    struct str words[] = { claiming->token,
                           ask,
                           digits(op, claiming->outcome),
                           whole,
                           erased,
                           claiming->take_for,
                           call,
                           store->node,
                           channel(op) };
    struct str keys[] = { redis_key(op, call, "c:", call), redis_key(op, call, "r", STR_NONE),
                          redis_key(op, call, "d", STR_NONE) };
    redis_op_script(op, SCRIPT_CLAIM, keys, 3, words, sizeof(words) / sizeof(words[0]));
    op->phase = CLAIM_NOW;
}

static void claim_pointer(struct redis_op *op, const struct redis_value *value)
{
    struct str call = redis_text(value);

    if (!redis_is_id(call)) {
        op->status = NOD_E_NOT_FOUND;
        return;
    }
    redis_id_set(&op->call, call);
    redis_op_more(op);
    redis_op_say(op,
                 (struct str[]){ STR("HMGET"), redis_key(op, call, "c:", call),
                                 arena_fmt(&op->arena, "m%s", op->ask.text),
                                 arena_fmt(&op->arena, "q%s", op->ask.text),
                                 arena_fmt(&op->arena, "a%s", op->ask.text) },
                 5);
}

static void claim_ask(struct redis_op *op, const struct redis_value *value)
{
    struct ask_record ask;

    op->status = redis_read_ask(&op->store->codec, id_str(&op->ask), redis_item(value, 0),
                                redis_item(value, 1), redis_item(value, 2), &op->arena, &ask);
    if (op->status != NOD_OK)
        return;
    redis_op_more(op);
    claim_say(op, op->with, copy(op, ask.scope), ask.sensitive);
}

/* The ask as it is now, and the call if it was taken. */
static void claim_done(struct redis_op *op, const struct redis_value *value)
{
    struct codec *codec = &op->store->codec;
    const struct redis_value *shown = redis_item(value, 5);
    struct ask_record *ask = ARENA_NEW(&op->arena, struct ask_record);
    struct call_record *call = ARENA_NEW(&op->arena, struct call_record);

    if (!redis_op_said(op, value) || !ask || !call)
        return;
    op->reply.won = redis_number(redis_item(value, 2)) != 0;
    op->reply.epoch = (uint64_t)redis_number(redis_item(value, 3));
    op->reply.taken = op->reply.epoch != 0;
    op->wakes = redis_number(redis_item(value, 4)) != 0;
    if (op->reply.taken) {
        op->status = redis_read_ask_of(codec, shown, id_str(&op->ask), &op->arena, ask);
        if (op->status == NOD_OK)
            op->status = redis_read_call(codec, id_str(&op->call), shown, true, &op->arena, call);
        op->reply.call = call;
        redis_know(op->store, id_str(&op->call), id_str(&op->call), call->scope, false);
    } else {
        op->status = redis_read_ask(codec, id_str(&op->ask), redis_item(shown, 0),
                                    redis_item(shown, 1), redis_item(shown, 2), &op->arena, ask);
    }
    op->reply.ask = ask;
    redis_forget(op->store, id_str(&op->ask));
}

static void claim_reply(struct redis_op *op, size_t at, const struct redis_value *value)
{
    (void)at;
    if (op->phase == CLAIM_POINTER)
        claim_pointer(op, value);
    else if (op->phase == CLAIM_ASK)
        claim_ask(op, value);
    else
        claim_done(op, value);
}

static const struct redis_verb claim_verb = { "claim", claim_reply };

void redis_claim(struct store *base, struct str token, const struct claim_spec *claim,
                 store_done *done, void *data)
{
    struct redis_store *store = redis_of(base);
    struct redis_op *op = redis_op_new(store, &claim_verb, done, data);
    const struct known *known = redis_known(store, claim->ask_id);
    struct claiming claiming = { token, claim->outcome, claim->content, claim->by,
                                 claim->take_for };

    if (!redis_is_id(claim->ask_id) || !plain(token, claim->take_for)) {
        redis_op_end(op, redis_is_id(claim->ask_id) ? NOD_E_LIMIT : NOD_E_NOT_FOUND);
        return;
    }
    redis_id_set(&op->ask, claim->ask_id);
    if (known) {
        op->call = known->call;
        claim_say(op, &claiming, known_scope(known), known->sensitive);
    } else {
        struct claiming *held = ARENA_NEW(&op->arena, struct claiming);
        if (held)
            *held = (struct claiming){ copy(op, token), claim->outcome, copy(op, claim->content),
                                       copy(op, claim->by), copy(op, claim->take_for) };
        op->with = held;
        redis_op_say(
            op,
            (struct str[]){ STR("GET"), redis_key(op, id_str(&op->ask), "p:", id_str(&op->ask)) },
            2);
    }
    send_or_end(op);
}

/* --- take ------------------------------------------------------------------------------------- */

enum { TAKE_FIRST, TAKE_ALIVE, TAKE_FROM_GONE };

struct taking {
    struct str token, node;
    struct str owner, epoch; /* whom it is taken from */
};

static void take_say(struct redis_op *op, const struct taking *taking, bool gone)
{
    struct str call = id_str(&op->call);
    struct str keys[] = { redis_key(op, call, "c:", call), redis_key(op, call, "r", STR_NONE) };
    struct str words[] = { taking->token, taking->node, call, gone ? STR("1") : STR("0"),
                           taking->owner, taking->epoch };

    redis_op_script(op, SCRIPT_TAKE, keys, 2, words, sizeof(words) / sizeof(words[0]));
}

/* It runs somewhere: is that node alive? Nodes lie in other shards than calls. If it beats again
 * right after this look, it finds its epoch gone. */
static void take_runs(struct redis_op *op, const struct redis_value *value)
{
    struct taking *taking = ARENA_NEW(&op->arena, struct taking);

    if (!taking || op->phase != TAKE_FIRST) {
        op->status = NOD_E_STALE;
        return;
    }
    *taking = *(const struct taking *)op->with;
    taking->owner = copy(op, redis_text(redis_item(value, 2)));
    taking->epoch = copy(op, redis_text(redis_item(value, 3)));
    op->with = taking;
    redis_op_more(op);
    redis_op_say(
        op, (struct str[]){ STR("EXISTS"), redis_key(op, taking->owner, "n:", taking->owner) }, 2);
}

static void take_reply(struct redis_op *op, size_t at, const struct redis_value *value)
{
    (void)at;
    if (op->phase == TAKE_ALIVE) {
        if (redis_number(value) != 0) {
            op->status = NOD_E_STALE;
            return;
        }
        redis_op_more(op);
        take_say(op, op->with, true);
        return;
    }
    if (!redis_op_said(op, value))
        return;
    if (redis_number(redis_item(value, 0)) == SAID_RUNS) {
        take_runs(op, value);
        return;
    }
    struct call_record *call = ARENA_NEW(&op->arena, struct call_record);
    if (!call) {
        op->status = NOD_E_LIMIT;
        return;
    }
    op->status = redis_read_call(&op->store->codec, id_str(&op->call), redis_item(value, 2), true,
                                 &op->arena, call);
    op->reply.call = call;
    op->reply.epoch = call->epoch;
    op->reply.taken = op->status == NOD_OK;
    if (op->status == NOD_OK)
        redis_know(op->store, id_str(&op->call), id_str(&op->call), call->scope, false);
}

static const struct redis_verb take_verb = { "take", take_reply };

void redis_take(struct store *base, struct str token, struct str call_id, struct str node,
                store_done *done, void *data)
{
    struct redis_op *op = redis_op_new(redis_of(base), &take_verb, done, data);
    struct taking *taking = ARENA_NEW(&op->arena, struct taking);

    if (!redis_is_id(call_id) || !taking || !plain(token, node)) {
        redis_op_end(op, redis_is_id(call_id) ? NOD_E_LIMIT : NOD_E_NOT_FOUND);
        return;
    }
    redis_id_set(&op->call, call_id);
    *taking = (struct taking){ .token = copy(op, token), .node = copy(op, node) };
    op->with = taking;
    take_say(op, taking, false);
    send_or_end(op);
}

/* --- finish, cancel --------------------------------------------------------------------------- */

struct ending_of {
    struct str token, result;
    bool finishes;
    uint64_t epoch;
    const struct store_event *event;
};

/* Where the event of this call's end will be. */
static void say_event(struct redis_op *op, const struct store_event *event)
{
    struct str key = redis_key(op, event->stream, "e:", event->stream);
    struct str seq = digits(op, (int64_t)event->seq);
    struct str words[] = { seq, arena_fmt(&op->arena, STR_FMT " %s", STR_ARG(seq), op->call.text),
                           digits(op, life(event->ttl_ms)), digits(op, REDIS_STREAM_EVENTS) };

    redis_op_script(op, SCRIPT_EVENT, &key, 1, words, 4);
}

static void end_say(struct redis_op *op, const struct ending_of *ending, struct str scope)
{
    struct redis_store *store = op->store;
    struct str call = id_str(&op->call), event = STR_NONE, ttl = STR_NONE;

    if (ending->event && ending->event->ttl_ms > 0) {
        say_event(op, ending->event);
        event = kept(op, codec_write_event(&store->codec, ending->event, &store->record));
        ttl = digits(op, life(ending->event->ttl_ms));
    }
    struct str words[] = {
        ending->token,
        ending->finishes ? digits(op, (int64_t)ending->epoch) : STR_NONE,
        digits(op, ending->finishes ? CALL_STORED_FINISHED : CALL_STORED_CANCELLED),
        kept(op, codec_write_text(&store->codec, CODEC_RESULT, scope, call, ending->result,
                                  &store->record)),
        call,
        store->node,
        channel(op),
        event,
        ttl,
    };
    struct str keys[] = { redis_key(op, call, "c:", call), redis_key(op, call, "r", STR_NONE),
                          redis_key(op, call, "d", STR_NONE), redis_key(op, call, "v:", call) };
    redis_op_script(op, SCRIPT_END, keys, 4, words, sizeof(words) / sizeof(words[0]));
}

static void end_reply(struct redis_op *op, size_t at, const struct redis_value *value)
{
    struct str scope;

    if (op->with && op->phase == 0) {
        if (!looked(op, value, &scope))
            return;
        redis_op_more(op);
        end_say(op, op->with, scope);
    } else if (at + 1 == op->expected && redis_op_said(op, value)) {
        redis_forget(op->store, id_str(&op->call));
    }
}

static const struct redis_verb finish_verb = { "finish", end_reply };
static const struct redis_verb cancel_verb = { "cancel", end_reply };

static const struct ending_of *copy_ending(struct redis_op *op, const struct ending_of *ending)
{
    struct ending_of *made = ARENA_NEW(&op->arena, struct ending_of);
    struct store_event *event = ARENA_NEW(&op->arena, struct store_event);

    if (!made || !event)
        return NULL;
    *made = *ending;
    made->token = copy(op, ending->token);
    made->result = copy(op, ending->result);
    if (ending->event) {
        *event = *ending->event;
        event->stream = copy(op, ending->event->stream);
        event->text = copy(op, ending->event->text);
        made->event = event;
    }
    return made;
}

static void end(struct store *base, const struct redis_verb *verb, struct str call_id,
                const struct ending_of *ending, store_done *done, void *data)
{
    struct redis_store *store = redis_of(base);
    struct redis_op *op = redis_op_new(store, verb, done, data);
    const struct known *known = redis_known(store, call_id);

    if (!redis_is_id(call_id) || !plain(ending->token, STR_NONE)) {
        redis_op_end(op, redis_is_id(call_id) ? NOD_E_LIMIT : NOD_E_NOT_FOUND);
        return;
    }
    redis_id_set(&op->call, call_id);
    if (known) {
        end_say(op, ending, known_scope(known));
    } else {
        op->with = copy_ending(op, ending);
        if (!op->with)
            op->status = NOD_E_LIMIT;
        say_look(op);
    }
    send_or_end(op);
}

void redis_finish(struct store *store, struct str token, struct str call_id, uint64_t epoch,
                  struct str result, const struct store_event *event, store_done *done, void *data)
{
    struct ending_of ending = { token, result, true, epoch, event };

    end(store, &finish_verb, call_id, &ending, done, data);
}

void redis_cancel(struct store *store, struct str token, struct str call_id, struct str why,
                  store_done *done, void *data)
{
    struct ending_of ending = { token, why, false, 0, NULL };

    end(store, &cancel_verb, call_id, &ending, done, data);
}
