/*
 * mcp/shared/request: one request of a client, and its response.
 *
 * A method either writes its whole response into server->out with reply_*, or starts a call
 * (caller2025_start, caller2026_start), which responds later.
 */
#ifndef NOD_MCP_SHARED_REQUEST_H
#define NOD_MCP_SHARED_REQUEST_H

#include "mcp/wire/meta.h"
#include "mcp/era2025/session.h"
#include "mcp/era2025/stream.h"
#include "rpc/message.h"

/* The members of params that nearly every request needs, found in one walk; NULL: not there. */
struct params {
    const struct json *meta, *name, *arguments;
    const struct json *state, *responses; /* requestState, inputResponses */
};
void params_find(const struct json *params, struct params *out);

struct request {
    struct mcp_server *server;
    struct session *session; /* era 2025 */
    const struct meta *meta; /* era 2026: what the request says of itself; NULL in era 2025 */
    struct str principal;    /* over HTTP: the principal, as verified */
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

/* The same for params.name and params.arguments. */
bool request_name(struct request *request, struct str *out);
bool request_arguments(struct request *request, const struct json **out);

/* The methods, each a file. */
void tools_list(struct request *request);
void tools_call(struct request *request);
void resources_list(struct request *request);
void resources_templates_list(struct request *request);
void resources_read(struct request *request);
void resources_subscribe(struct request *request);
void resources_unsubscribe(struct request *request);
void prompts_list(struct request *request);
void prompts_get(struct request *request);
void completion_complete(struct request *request);
void logging_set_level(struct request *request);

/* discover.c: the members of ServerCapabilities that both eras have. */
void discover_capabilities(const struct request *request, struct json_writer *w);

/* resources.c: which sessions subscribe to what. */
struct subjects;
struct subjects *subjects_create(void);
void subjects_destroy(struct subjects *subjects);
/* A session's subscriptions end with it. */
void resources_forget(struct session *session);
/* A resource has changed, here or on another node: tells those who subscribe here. */
void resources_updated(struct mcp_server *server, struct str uri);
/* What a session subscribes to, as its record has it. `exact`: subscriptions not in it have
 * ended. */
void resources_write_subscriptions(const struct session *session, struct json_writer *w);
void resources_read_subscriptions(struct session *session, const struct json *uris, bool exact);

#endif
