/*
 * rpc/message: JSON-RPC 2.0 messages.
 *
 * A message is read strictly: "jsonrpc" is "2.0"; an id is a string or an integer, and is kept
 * exactly as its JSON text (so "1" and 1 differ, and large integers survive); params is an object
 * or an array; a response has exactly one of result and error. For a message that cannot be read
 * there is an error to answer with, and its id if that was readable.
 *
 * A string has exactly one id text: an id that came with escapes ("\u0061") is kept as our own
 * writer would write it ("a"), so that ids can be compared byte by byte. Members that JSON-RPC does
 * not know are let through; `whole` has them.
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

enum {
    RPC_ID_MAX = 512,    /* bytes of an id's JSON text */
    RPC_BATCH_MAX = 128, /* messages in one array */
};

struct rpc_message {
    enum rpc_kind kind;
    /* JSON text of the id, e.g. `7` or `"abc"`; empty on notifications; may be `null` on
     * RPC_ERROR */
    struct str id;
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
    struct str message; /* in the arena, or constant */
    struct str id;      /* JSON text, or `null` */
    bool response;      /* it was meant as a response: nothing may be sent back */
};

/*
 * The message of a parsed value. NOD_OK, or NOD_E_INVALID with what to answer. A malformed error
 * response is invalid too, but then `out` is of the kind RPC_ERROR, with its id and, if it can be
 * read, its code: whoever waits for that response would wait in vain (see rpc_is_broken_error).
 */
nod_status rpc_read(const struct json *value, struct arena *arena, struct rpc_message *out,
                    struct rpc_fault *fault);
/* After NOD_E_INVALID: it was meant as an error response to a request of ours. */
static inline bool rpc_is_broken_error(const struct rpc_message *message,
                                       const struct rpc_fault *fault)
{
    return fault->response && message->kind == RPC_ERROR && message->id.len > 0;
}

/*
 * Several messages in one array, as in revision 2025-03-26. A single message is accepted as well,
 * so that a reader of that revision needs only one path; `array` says which it was. An empty array,
 * and one of more than RPC_BATCH_MAX, is an invalid request as a whole.
 *
 *     while (rpc_batch_next(&batch, &arena, &message, &fault, &status)) ...
 *
 * gives each element in order, with its own status and fault.
 */
struct rpc_batch {
    const struct json *next;
    uint32_t left;
    bool array;
};

bool rpc_is_batch(const struct json *value);
nod_status rpc_batch_of(const struct json *value, struct rpc_batch *out, struct rpc_fault *fault);
/* False: there are no more. */
bool rpc_batch_next(struct rpc_batch *batch, struct arena *arena, struct rpc_message *out,
                    struct rpc_fault *fault, nod_status *status);

/* The id text of a value ("requestId" in params); {NULL, 0} if it is neither a string nor an
 * integer. */
struct str rpc_id_of(struct arena *arena, const struct json *value);
/* The id text of a string: quoted and escaped. {NULL, 0} if it is not UTF-8 or too long. */
struct str rpc_id_json(struct arena *arena, struct str text);
/* The string of an id text; {NULL, 0} if the id is a number. */
struct str rpc_id_text(struct arena *arena, struct str id);

/*
 * Writers: each adds one whole message, on one line, or (past the buffer's limit) nothing;
 * `overflow` of the buffer tells. `id`, `params`, `result` and `data` are JSON text from a parser
 * or a writer. Empty params and data are left out, an empty id is null. In methods and error
 * messages a byte that is not UTF-8 is written as a question mark.
 */
void rpc_write_notification(struct buf *out, struct str method, struct str params);
void rpc_write_error(struct buf *out, struct str id, int64_t code, struct str message,
                     struct str data);
/*
 * The same for the body of an HTTP error. If it answers no known request, it has no `id`, as MCP
 * demands.
 */
void rpc_write_refusal(struct buf *out, struct str id, int64_t code, struct str message,
                       struct str data);
/* The answer to a message that could not be read. */
void rpc_write_fault(struct buf *out, const struct rpc_fault *fault);
/* Begins a message in `out`, which is cleared first: a request has an id and a method, a
 * notification a method, a response an id. What is written until rpc_end is in its params, or its
 * result. */
void rpc_begin(struct json_writer *w, struct buf *out, struct str id, struct str method);
/* False: it could not be written. */
bool rpc_end(struct json_writer *w);

#endif
