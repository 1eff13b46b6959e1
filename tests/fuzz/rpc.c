/*
 * tests/fuzz/rpc: arbitrary bytes as a message or a batch. What could be read is written again and
 * must read back as the same message. What could not must give a fault that can be sent.
 */
#include <stdint.h>
#include <stdlib.h>

#include "../unit/rpc/text.h"
#include "target.h"

enum { ARENA_CAP = 4 << 20, OUT_LIMIT = 4 << 20 };

static void must(bool truth)
{
    if (!truth)
        abort();
}

static struct str raw_of(const struct json *value)
{
    return value ? value->raw : STR_NONE;
}

/* The notification of the same method and params, with an id. */
static void rpc_write_request(struct buf *out, struct str id, struct str method, struct str params)
{
    static const struct str head = STR_INIT("{\"jsonrpc\":\"2.0\",");
    size_t from = out->len;
    struct buf plain;

    buf_init(&plain, 16 << 20);
    rpc_write_notification(&plain, method, params);
    buf_add(out, head);
    buf_add(out, STR("\"id\":"));
    buf_add(out, id);
    buf_add_char(out, ',');
    buf_add(out, str_skip(buf_str(&plain), head.len));
    buf_finish(&plain);
    if (out->overflow)
        out->len = from;
}

static void rpc_write_result(struct buf *out, struct str id, struct str result)
{
    buf_add(out, STR("{\"jsonrpc\":\"2.0\",\"id\":"));
    buf_add(out, id);
    buf_add(out, STR(",\"result\":"));
    for (size_t i = 0; i < result.len; i++)
        buf_add_char(out, result.at[i] == '\n' || result.at[i] == '\r' ? ' ' : result.at[i]);
    buf_add(out, result.len ? STR("}") : STR("{}}"));
}

static void write_again(struct buf *out, const struct rpc_message *m)
{
    switch (m->kind) {
    case RPC_REQUEST:
        rpc_write_request(out, m->id, m->method, raw_of(m->params));
        break;
    case RPC_NOTIFICATION:
        rpc_write_notification(out, m->method, raw_of(m->params));
        break;
    case RPC_RESULT:
        rpc_write_result(out, m->id, raw_of(m->result));
        break;
    case RPC_ERROR:
        rpc_write_error(out, m->id, m->code, m->text, raw_of(m->data));
        break;
    }
}

static void check_same(struct arena *arena, const struct rpc_message *m)
{
    struct buf out;
    struct rpc_message again;
    struct rpc_fault fault;

    buf_init(&out, OUT_LIMIT);
    write_again(&out, m);
    must(!out.overflow && !memchr(out.at, '\n', out.len) && !memchr(out.at, '\r', out.len));
    if (rpc_parse(arena, buf_str(&out), &again, &fault) == NOD_OK) {
        must(again.kind == m->kind && str_eq(again.id, m->id) && str_eq(again.method, m->method));
        must(again.code == m->code && str_eq(again.text, m->text));
        must(!again.params == !m->params && (!m->params || json_equal(again.params, m->params)));
    } else {
        must(arena->exhausted);
    }
    buf_finish(&out);
}

static void check_fault(struct arena *arena, const struct rpc_fault *fault)
{
    struct buf out;
    struct rpc_message answer;
    struct rpc_fault none;

    buf_init(&out, OUT_LIMIT);
    rpc_write_fault(&out, fault);
    must(!out.overflow);
    must(rpc_parse(arena, buf_str(&out), &answer, &none) == NOD_OK || arena->exhausted);
    buf_finish(&out);
}

FUZZ_TARGET(rpc)
{
    struct arena arena;
    struct rpc_batch batch;
    struct rpc_message message;
    struct rpc_fault fault;
    nod_status status;
    int count = 0;

    arena_init(&arena, ARENA_CAP);
    if (rpc_parse_batch(&arena, str_n((const char *)data, size), &batch, &fault) != NOD_OK)
        check_fault(&arena, &fault);
    while (rpc_batch_next(&batch, &arena, &message, &fault, &status)) {
        must(++count <= RPC_BATCH_MAX);
        if (status == NOD_OK)
            check_same(&arena, &message);
        else
            check_fault(&arena, &fault);
    }
    arena_finish(&arena);
    return 0;
}
