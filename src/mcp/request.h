/*
 * mcp/request: one request of a client, and its response.
 *
 * A method either writes its whole response into server->out with reply_*, or starts a call
 * (caller2025_start), which responds later on the request's stream.
 */
#ifndef NOD_MCP_REQUEST_H
#define NOD_MCP_REQUEST_H

#include "mcp/meta.h"
#include "mcp/session.h"
#include "mcp/stream.h"
#include "rpc/message.h"

/* The members of params that nearly every request is asked for, found in one walk; NULL: not there.
 */
struct params {
    const struct json *meta, *name, *arguments;
    const struct json *state, *responses; /* requestState, inputResponses */
};
void params_find(const struct json *params, struct params *out);

struct request {
    struct mcp_server *server;
    struct session *session; /* era 2025 */
    const struct meta *meta; /* era 2026: what the request says of itself; NULL in era 2025 */
    struct str principal;    /* over HTTP: who it is, as verified */
    const struct http_request *http; /* era 2026 over HTTP: for headers that depend on the target */
    int status;                      /* era 2026 over HTTP: of the response; 0: 200 */
    struct str id;                   /* JSON text */
    const struct json *params;
    struct params has;               /* of them */
    struct http_exchange *exchange;  /* HTTP: to be held if a call is started */
    const struct http_request *post; /* era 2025 over HTTP, not in an array: the whole of it */
    struct mcp_stream *stream;       /* where responses go; NULL: a held one is made when needed */
    bool later;                      /* a call has taken it over */
    bool failed;                     /* the response is an error */
};

/*
 * {"jsonrpc","id","result": {...}}: the caller writes the members of the result between the two. In
 * the 2026 era the members that every result has are there already.
 */
void reply_begin(struct request *request, struct json_writer *w);
void reply_end(struct request *request, struct json_writer *w);
void reply_empty(struct request *request);
void reply_error(struct request *request, int64_t code, struct str message);
void reply_error_data(struct request *request, int64_t code, struct str message, struct str data);
void reply_errorf(struct request *request, int64_t code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Era 2026: with an HTTP status of its own. */
void reply_fault(struct request *request, const struct meta_fault *fault);
/* Era 2026: the members ttlMs and cacheScope of a result that may be kept. */
void reply_cacheable(const struct request *request, struct json_writer *w, int64_t ttl_ms,
                     bool anybody);

/* A string of params that must be there: replies with an error and says false if it is not. */
bool request_text(struct request *request, struct str name, struct str *out);
/* An object of params, NULL if not there: replies with an error and says false if it is something
 * else. */
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
void discover_capabilities(struct json_writer *w, const struct catalog *catalog);

/* resources.c: which sessions subscribe to what. */
struct subjects;
struct subjects *subjects_create(void);
void subjects_destroy(struct subjects *subjects);
/* A session's subscriptions end with it. */
void resources_forget(struct session *session);
/* A resource has changed, here or elsewhere: those who subscribe here are told. */
void resources_updated(struct mcp_server *server, struct str uri);
/* What a session subscribes to, as its record has it. `exact`: what is not there has ended. */
void resources_write_subscriptions(const struct session *session, struct json_writer *w);
void resources_read_subscriptions(struct session *session, const struct json *uris, bool exact);

/* logging.c: "info" and so on; false for a level that MCP does not have. */
bool logging_level_find(struct str name, uint8_t *out);
struct str logging_level_name(int level);

#endif
