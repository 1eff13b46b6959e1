/*
 * tests/unit/rpc/text: messages from their text.
 *
 * A server reads values that it has parsed already: this is for the tests and the fuzzers alone.
 */
#ifndef NOD_TESTS_RPC_TEXT_H
#define NOD_TESTS_RPC_TEXT_H

#include "rpc/message.h"

static inline const struct json *rpc_text_value(struct arena *arena, struct str text,
                                                struct rpc_fault *fault)
{
    static const struct json_opts opts = { .refuse_duplicates = true };
    struct json_error error = { 0 };
    const struct json *value = json_parse(arena, text, &opts, &error);

    if (value)
        return value;
    bool limit = error.status == NOD_E_LIMIT;
    struct str why = arena_fmt(arena, "%s at byte %zu: %s", limit ? "Over a limit" : "Not JSON",
                               error.offset, error.what ? error.what : "unreadable");
    if (why.len == 0) /* the arena is full, which may be the very reason */
        why = limit ? STR("The message is over a limit") : STR("The message is not JSON");
    *fault = (struct rpc_fault){ .code = limit ? RPC_INVALID_REQUEST : RPC_PARSE_ERROR,
                                 .message = why,
                                 .id = STR("null") };
    return NULL;
}

static inline nod_status rpc_parse(struct arena *arena, struct str text, struct rpc_message *out,
                                   struct rpc_fault *fault)
{
    const struct json *value = rpc_text_value(arena, text, fault);

    return value ? rpc_read(value, arena, out, fault) : NOD_E_INVALID;
}

static inline nod_status rpc_parse_batch(struct arena *arena, struct str text,
                                         struct rpc_batch *out, struct rpc_fault *fault)
{
    const struct json *value = rpc_text_value(arena, text, fault);

    if (value)
        return rpc_batch_of(value, out, fault);
    *out = (struct rpc_batch){ 0 };
    return NOD_E_INVALID;
}

#endif
