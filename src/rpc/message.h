/*
 * rpc/message: JSON-RPC 2.0 messages.
 *
 * A message is read strictly: "jsonrpc" is "2.0", an id is a string or an integer and is kept
 * exactly as its JSON text (so "1" and 1 differ, and large integers survive), params is an object or
 * an array, a response has exactly one of result and error. What cannot be read gives the error
 * to answer with, and the id where there was a readable one.
 */
#ifndef NOD_RPC_MESSAGE_H
#define NOD_RPC_MESSAGE_H

#include "json/value.h"
#include "json/write.h"

enum rpc_kind { RPC_REQUEST, RPC_NOTIFICATION, RPC_RESULT, RPC_ERROR };

enum rpc_code {
    RPC_PARSE_ERROR = -32700,
    RPC_INVALID_REQUEST = -32600,
    RPC_METHOD_NOT_FOUND = -32601,
    RPC_INVALID_PARAMS = -32602,
    RPC_INTERNAL_ERROR = -32603,
};

struct rpc_message {
    enum rpc_kind kind;
    struct str id;             /* JSON text of the id, e.g. `7` or `"abc"`; empty on notifications; `null` possible on RPC_ERROR */
    struct str method;         /* requests, notifications */
    const struct json *params; /* may be NULL */
    const struct json *result; /* RPC_RESULT */
    int64_t code;              /* RPC_ERROR */
    struct str text;           /* RPC_ERROR: its message */
    const struct json *data;   /* RPC_ERROR, may be NULL */
    const struct json *whole;
};

struct rpc_fault {
    enum rpc_code code;
    struct str message; /* in the arena */
    struct str id;      /* JSON text, or `null` */
};

/* The message of an already parsed value. NOD_OK, or NOD_E_INVALID with what to answer. */
nod_status rpc_read(const struct json *value, struct arena *arena, struct rpc_message *out,
                    struct rpc_fault *fault);
/* Parses (duplicate keys refused) and reads. An array is NOT taken here: see rpc_parse_batch. */
nod_status rpc_parse(struct arena *arena, struct str text, struct rpc_message *out,
                     struct rpc_fault *fault);

/* Writers: each writes one whole message. `id` is JSON text. result/params/data: JSON text, may be empty. */
void rpc_write_request(struct buf *out, struct str id, struct str method, struct str params);
void rpc_write_notification(struct buf *out, struct str method, struct str params);
void rpc_write_result(struct buf *out, struct str id, struct str result);
void rpc_write_error(struct buf *out, struct str id, int64_t code, struct str message, struct str data);

#endif
