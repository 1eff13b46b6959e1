/*
 * store/redis: take, finish and cancel.
 *
 * Each becomes one script, with the records, written and sealed here, and what Redis has to see.
 * The call's scope has to be known for that. Mostly it is remembered (redis_known.c). If not, the
 * operation reads it first, and keeps its arguments in the meantime.
 */
#include "store/redis_inside.h"

_Static_assert(CALL_STORED_RUNNING == 0 && CALL_STORED_WAITING == 1 && CALL_STORED_RUNNABLE == 2 &&
                   CALL_STORED_FINISHED == 3 && CALL_STORED_CANCELLED == 4,
               "the scripts know the states of a call by number");
_Static_assert(ID_LEN == 22, "the scripts cut ids by their length");

/* --- take --- */

enum { TAKE_FIRST, TAKE_ALIVE, TAKE_FROM_GONE, TAKE_BACK };

struct taking {
    struct str token, node;
    enum take_why why;
    struct str owner, epoch; /* the node it is taken from */
    nod_status unread;       /* it was taken, and cannot be read */
};

static void take_say(struct redis_op *op, const struct taking *taking, bool gone)
{
    struct str call = id_str(&op->call);
    struct str keys[] = { redis_key(op, call, "c:", call), redis_key(op, call, "r", STR_NONE) };
    struct str words[] = { taking->token,  taking->node,
                           call,           gone ? STR("1") : STR("0"),
                           taking->owner,  taking->epoch,
                           redis_used(op), redis_digits(op, taking->why) };

    redis_op_script(op, SCRIPT_TAKE, keys, 2, words, sizeof(words) / sizeof(words[0]));
}

void redis_say_back(struct redis_op *op, struct str node, uint64_t epoch)
{
    struct str call = id_str(&op->call);
    struct str keys[] = { redis_key(op, call, "c:", call), redis_key(op, call, "r", STR_NONE) };
    struct str words[] = {
        node,          redis_digits(op, (int64_t)epoch), call, op->store->node, op->store->channels,
        redis_used(op)
    };

    redis_op_script(op, SCRIPT_BACK, keys, 2, words, sizeof(words) / sizeof(words[0]));
}

/* The call runs on some node: is that node alive? Nodes are in other shards than calls. If the node
 * comes back right after this look, it finds that its epoch is over. */
static void take_runs(struct redis_op *op, const struct redis_value *value)
{
    struct taking *taking = ARENA_NEW(&op->arena, struct taking);

    if (!taking || op->phase != TAKE_FIRST) {
        op->status = NOD_E_STALE;
        return;
    }
    *taking = *(const struct taking *)op->with;
    taking->owner = redis_copy(op, redis_text(redis_item(value, 2)));
    taking->epoch = redis_copy(op, redis_text(redis_item(value, 3)));
    op->with = taking;
    redis_op_more(op);
    redis_op_say(
        op, (struct str[]){ STR("EXISTS"), redis_key(op, taking->owner, "n:", taking->owner) }, 2);
}

static void take_reply(struct redis_op *op, size_t at, const struct redis_value *value)
{
    (void)at;
    if (op->phase == TAKE_BACK) {
        op->status = ((const struct taking *)op->with)->unread;
        return;
    }
    if (op->phase == TAKE_ALIVE) {
        const struct taking *taking = op->with;
        bool alive = redis_number(value) != 0;
        if (alive || taking->why == TAKE_PLAIN) {
            op->reply.suspect = !alive;
            op->status = NOD_E_STALE;
            return;
        }
        redis_op_more(op);
        take_say(op, op->with, true);
        return;
    }
    if (!redis_op_said(op, value)) {
        op->reply.suspect = op->status == NOD_E_STALE && redis_number(redis_item(value, 2)) == 1;
        return;
    }
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
    if (op->status != NOD_OK) { /* it was taken, and cannot be read here: perhaps on another node */
        struct taking *taking = (struct taking *)(uintptr_t)op->with;
        taking->unread = op->status;
        op->status = NOD_OK;
        redis_op_more(op);
        op->phase = TAKE_BACK;
        redis_say_back(op, taking->node, redis_epoch_of(redis_item(value, 2)));
        return;
    }
    op->reply.call = call;
    op->reply.epoch = call->epoch;
    op->reply.taken = true;
    redis_know(op->store, id_str(&op->call), id_str(&op->call), call->scope, false);
}

static const struct redis_verb take_verb = { "take", take_reply };

void redis_take(struct store *base, const struct take_spec *take, store_done *done, void *data)
{
    struct redis_op *op = redis_op_new(redis_of(base), &take_verb, done, data);
    struct taking *taking = ARENA_NEW(&op->arena, struct taking);

    if (!redis_is_id(take->call_id) || !taking || !redis_plain(take->token, take->node)) {
        redis_op_end(op, redis_is_id(take->call_id) ? NOD_E_LIMIT : NOD_E_NOT_FOUND);
        return;
    }
    op->call = id_of(take->call_id);
    *taking = (struct taking){ .token = redis_copy(op, take->token),
                               .node = redis_copy(op, take->node),
                               .why = take->why };
    op->with = taking;
    take_say(op, taking, false);
    redis_op_send_or_end(op);
}

/* --- a run that is no longer on probation --- */

static const struct redis_verb clear_verb = { "append", redis_reply_said };

void redis_clear(struct store *base, const struct append_spec *append, store_done *done, void *data)
{
    struct redis_op *op = redis_op_new(redis_of(base), &clear_verb, done, data);

    if (!redis_is_id(append->call_id)) {
        redis_op_end(op, NOD_E_NOT_FOUND);
        return;
    }
    op->call = id_of(append->call_id);
    redis_op_script(op, SCRIPT_CLEAR,
                    (struct str[]){ redis_key(op, append->call_id, "c:", append->call_id) }, 1,
                    (struct str[]){ redis_digits(op, (int64_t)append->epoch) }, 1);
    redis_op_send_or_end(op);
}

/* --- finish, cancel --- */

static const struct redis_verb finish_verb;

static void end_say(struct redis_op *op, const struct finish_spec *ending, struct str scope)
{
    struct redis_store *store = op->store;
    struct str call = id_str(&op->call);
    bool finishes = op->verb == &finish_verb;
    struct str words[] = {
        ending->token,
        finishes ? redis_digits(op, (int64_t)ending->epoch) : STR_NONE,
        redis_digits(op, finishes ? CALL_STORED_FINISHED : CALL_STORED_CANCELLED),
        redis_kept(op, codec_write_text(&store->codec, CODEC_RESULT, scope, call, ending->result,
                                        &store->record)),
        call,
        store->node,
        op->store->channels,
        redis_digits(op, redis_life(store->keep_ms)),
        redis_digits(op, redis_life(ending->keep_for_ms)),
        ending->handed ? STR("1") : STR("0"),
        ending->fetched ? STR("1") : STR("0"),
    };
    struct str keys[] = { redis_key(op, call, "c:", call), redis_key(op, call, "r", STR_NONE),
                          redis_key(op, call, "d", STR_NONE) };
    redis_op_script(op, SCRIPT_FINISH, keys, 3, words, sizeof(words) / sizeof(words[0]));
}

static void end_reply(struct redis_op *op, size_t at, const struct redis_value *value)
{
    struct str scope;

    if (op->with && op->phase == 0) {
        if (!redis_looked(op, value, &scope))
            return;
        redis_op_more(op);
        end_say(op, op->with, scope);
    } else if (at + 1 == op->expected && redis_op_said(op, value)) {
        redis_forget(op->store, id_str(&op->call));
        redis_tally_grew(op->store, redis_text(redis_item(value, 2)), op->result_bytes);
    }
}

static const struct redis_verb finish_verb = { "finish", end_reply };
static const struct redis_verb cancel_verb = { "cancel", end_reply };

static void redis_end(struct store *base, const struct redis_verb *verb,
                      const struct finish_spec *ending, store_done *done, void *data)
{
    struct redis_store *store = redis_of(base);
    struct redis_op *op = redis_op_new(store, verb, done, data);
    const struct known *known = redis_known(store, ending->call_id);

    if (!redis_is_id(ending->call_id) || !redis_plain(ending->token, STR_NONE)) {
        redis_op_end(op, redis_is_id(ending->call_id) ? NOD_E_LIMIT : NOD_E_NOT_FOUND);
        return;
    }
    op->call = id_of(ending->call_id);
    op->result_bytes = ending->result.len;
    if (known) {
        end_say(op, ending, redis_known_scope(known));
    } else {
        struct finish_spec *kept = ARENA_NEW(&op->arena, struct finish_spec);
        if (kept) {
            *kept = *ending;
            kept->token = redis_copy(op, ending->token);
            kept->result = redis_copy(op, ending->result);
        } else {
            op->status = NOD_E_LIMIT;
        }
        op->with = kept;
        redis_say_look(op);
    }
    redis_op_send_or_end(op);
}

void redis_finish(struct store *store, const struct finish_spec *finish, store_done *done,
                  void *data)
{
    redis_end(store, &finish_verb, finish, done, data);
}

void redis_cancel(struct store *store, struct str token, struct str call_id, struct str why,
                  store_done *done, void *data)
{
    redis_end(store, &cancel_verb,
              &(struct finish_spec){ .token = token, .call_id = call_id, .result = why }, done,
              data);
}
