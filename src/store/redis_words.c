/*
 * store/redis: what the transitions have in common.
 *
 * Numbers as text, records as they were just written, and the call's scope, for which a record is
 * sealed. Mostly the scope is remembered (redis_known.c); if not, it is read first.
 */
#include "store/redis_inside.h"

static const int64_t life_most_ms = (int64_t)100 * 365 * 24 * 3600 * 1000;

int64_t redis_life(int64_t ms)
{
    return ms < 0 ? 0 : ms > life_most_ms ? life_most_ms : ms;
}

struct str redis_digits(struct redis_op *op, int64_t n)
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
struct str redis_kept(struct redis_op *op, nod_status status)
{
    struct str text = STR_NONE;

    if (status == NOD_OK)
        text = arena_str(&op->arena, buf_str(&op->store->record));
    else if (op->status == NOD_OK)
        op->status = status;
    buf_clear(&op->store->record);
    return text;
}

struct str redis_used(struct redis_op *op)
{
    return op->store->used_ms ? redis_digits(op, op->store->used_ms) : STR("+inf");
}

struct str redis_copy(struct redis_op *op, struct str s)
{
    return s.len ? arena_str(&op->arena, s) : STR_NONE;
}

/* Can these be parts of a call's head, where they have to be told apart? */
bool redis_plain(struct str token, struct str node)
{
    return redis_is_id(token) && !memchr(token.at, ' ', token.len) &&
           !memchr(token.at, '\n', token.len) && (!node.len || !memchr(node.at, '\n', node.len));
}

/* Sends the operation, unless writing its records has failed. */
void redis_op_send_or_end(struct redis_op *op)
{
    if (op->status != NOD_OK)
        redis_op_end(op, op->status);
    else
        redis_op_send(op);
}

/* Before the transition: reads the call's own record, for its scope. */
void redis_say_look(struct redis_op *op)
{
    struct str call = id_str(&op->call);

    redis_op_say(op, (struct str[]){ STR("HGET"), redis_key(op, call, "c:", call), STR("c") }, 3);
}

/* The reply to that. False: the operation ends here. */
bool redis_looked(struct redis_op *op, const struct redis_value *value, struct str *scope)
{
    struct call_record call = { 0 };

    if (value->type == REDIS_IS_NIL)
        op->status = NOD_E_NOT_FOUND;
    else
        op->status = codec_read_call(&op->store->codec, id_str(&op->call), redis_text(value),
                                     &op->arena, &call);
    *scope = redis_copy(op, call.scope);
    if (op->status == NOD_OK)
        redis_know(op->store, id_str(&op->call), id_str(&op->call), *scope, false);
    return op->status == NOD_OK;
}

struct str redis_known_scope(const struct known *known)
{
    return str_n(known->scope, known->scope_len);
}
