/*
 * mcp/shared/request: one request of a client, and its response.
 *
 * A method either writes its whole response into server->out with reply_*, or starts a call
 * (request->era->start), which responds later.
 */
#ifndef NOD_MCP_SHARED_REQUEST_H
#define NOD_MCP_SHARED_REQUEST_H

#include "mcp/wire/meta.h"
#include "mcp/shared/held.h"
#include "mcp/shared/server_inside.h"
#include "mcp/wire/revision.h"
#include "rpc/message.h"

/* The members of params that nearly every request needs, found in one walk; NULL: not there. */
struct params {
    const struct json *meta, *name, *arguments;
    const struct json *state, *responses; /* requestState, inputResponses */
};
void params_find(const struct json *params, struct params *out);

struct request;

/* What a request is for. */
struct wanted {
    enum target_kind kind;
    struct str name; /* of a tool or a prompt */
    struct str uri;  /* of a resource */
    const struct json *args;
};

/* A call that is to be made. */
struct start_spec {
    struct target *target;
    const struct json *args; /* NULL: {} */
    struct str uri;          /* of a resource */
    enum revision_part part; /* what the result is */
    struct str meta;         /* of the request: see call_record.meta; request_start sets it */
};

/* What differs between the eras once a method is known. */
struct era_ops {
    /* Makes the call, or finds one that was made before. The request is taken over, or an error was
     * replied. */
    void (*start)(struct request *request, const struct start_spec *spec);
    /* The request is answered later, and is no call: see mcp/shared/held.h. False: an error was
     * replied. */
    bool (*hold)(struct request *request, struct held *held);
    /* What it wants is not here. True: it was made when it was, and is taken over, or replied
     * to. */
    bool (*gone)(struct request *request, const struct wanted *wanted);
};

struct session;
struct mcp_stream;

struct request {
    const struct era_ops *era;
    struct mcp_server *server;
    /* Set with the era: who sent it, what that client declares (enum client_can), and in which
     * revision it is told things. */
    struct str sender;
    unsigned can;
    enum revision revision;
    struct session *session; /* era 2025 */
    const struct meta *meta; /* era 2026: what the request says of itself; NULL in era 2025 */
    struct str principal;    /* as the transport knows it; empty in the 2025 era on stdio */
    role_set roles;          /* of the token that it came with; the local user has all */
    const struct http_request *http; /* era 2026 over HTTP: for headers that depend on the target */
    int status;                      /* era 2026 over HTTP: of the response; 0: 200 */
    struct str id;                   /* JSON text */
    const struct json *params;
    struct params has;              /* members of params */
    struct http_exchange *exchange; /* HTTP: kept open if a call is started */
    /* era 2025 over HTTP, not in an array: the whole HTTP request */
    const struct http_request *post;
    /* where responses go; NULL: a held stream is made when it is needed */
    struct mcp_stream *stream;
    bool later;  /* a call, or something else that waits, has taken the request over */
    bool failed; /* the response is an error */
};

/*
 * {"jsonrpc","id","result": {...}}: the members of the result are written between the two. In the
 * 2026 era reply_begin has written the members that every result has.
 */
void reply_begin(struct request *request, struct json_writer *w);
void reply_end(struct request *request, struct json_writer *w);
void reply_empty(struct request *request);
void reply_error(struct request *request, int64_t code, struct str message);
void reply_error_data(struct request *request, int64_t code, struct str message, struct str data);
void reply_errorf(struct request *request, int64_t code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Era 2026: an error with its own HTTP status. */
void reply_fault(struct request *request, const struct meta_fault *fault);
/* Era 2026: the members ttlMs and cacheScope of a result that may be cached. */
void reply_cacheable(const struct request *request, struct json_writer *w, int64_t ttl_ms,
                     bool anybody);

/* A string of params that must be there. False: it is not, and an error was replied. */
bool request_text(struct request *request, struct str name, struct str *out);
/* An object of params, NULL if it is not there. False: it is something else, and an error was
 * replied. */
bool request_object(struct request *request, struct str name, const struct json **out);

/* Makes the call of this request (era->start), or replies why not. */
void request_start(struct request *request, struct start_spec spec);

/* The same for params.name and params.arguments. */
bool request_name(struct request *request, struct str *out);
bool request_arguments(struct request *request, const struct json **out);

#endif
