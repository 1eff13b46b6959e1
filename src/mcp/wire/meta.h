/*
 * mcp/wire/meta: what a request of the 2026 era says about itself.
 *
 * Every request carries its version and its client's capabilities in params._meta. (Over HTTP,
 * headers repeat some of it: mcp/wire/headers.) Pure functions.
 */
#ifndef NOD_MCP_WIRE_META_H
#define NOD_MCP_WIRE_META_H

#include "base/arena.h"
#include "json/value.h"

#define META_PREFIX       "io.modelcontextprotocol/"
#define META_VERSION      META_PREFIX "protocolVersion"
#define META_CAPABILITIES META_PREFIX "clientCapabilities"
#define META_CLIENT       META_PREFIX "clientInfo"
#define META_LOG_LEVEL    META_PREFIX "logLevel"
#define META_SUBSCRIPTION META_PREFIX "subscriptionId"
#define META_SERVER       META_PREFIX "serverInfo"
#define META_TASKS        META_PREFIX "tasks"

enum {
    MCP_HEADER_MISMATCH = -32020,
    MCP_MISSING_CAPABILITY = -32021,
    MCP_UNSUPPORTED_VERSION = -32022,
};

enum {
    META_NO_LOG = 255,        /* meta.log_level: send no log messages */
    META_SHOWN_MAX = 128,     /* bytes of a client's value in an error message */
    META_REST_MAX = 16 << 10, /* bytes of what a request says in _meta for its target */
};

struct meta {
    struct str version;
    const struct json *capabilities; /* an object; lives as long as the message */
    const struct json *client;       /* what it calls itself: likewise, or NULL */
    uint8_t can;                     /* enum client_can: what the client declares */
    bool tasks;                      /* it declares the extension io.modelcontextprotocol/tasks */
    uint8_t log_level;               /* nod_log_level, or META_NO_LOG */
    struct str progress_token;       /* JSON text, or empty */
};

enum { CLIENT_NAME_SHOWN = 128 }; /* bytes of a client's name, and of its version, that are kept */
/* What people are shown of a clientInfo: JSON {"name", "version"}, in the arena; empty if it has no
 * name. */
struct str client_shown(const struct json *info, struct arena *arena);

/* What a view is served as (the extension MCP Apps). */
#define VIEW_MIME "text/html;profile=mcp-app"
/* Do the extensions of a ClientCapabilities object say that the client shows views? */
bool client_shows_views(const struct json *extensions);

/* Why a request is refused before it is handled: an error with its HTTP status. */
struct meta_fault {
    int status;
    int64_t code;
    struct str message;
    struct str data; /* JSON, or empty */
};

/* Does params._meta show a client of the 2026 era, whether or not it is complete? */
bool meta_is_modern(const struct json *params);

/* False: *fault says why, with its text in the arena. */
bool meta_read(const struct json *params, struct arena *arena, struct meta *out,
               struct meta_fault *fault);

/*
 * What a _meta says to whoever does the work, in both eras: the object without progressToken and
 * without the keys whose prefix the protocol has reserved for itself. Trace contexts (traceparent,
 * tracestate, baggage) stay: they are for whoever traces. JSON text in the arena; empty: nothing is
 * left. False: it has more than META_REST_MAX bytes.
 */
bool meta_rest(const struct json *meta, struct arena *arena, struct str *out);

/* A client's value, shortened for an error message. */
struct str meta_shown(struct str value);

/* Refuses a version: -32022 with the versions that are spoken. */
void meta_unsupported(struct str requested, struct arena *arena, struct meta_fault *fault);

/* The capability bits (enum client_can) of a ClientCapabilities object. */
uint8_t meta_can(const struct json *capabilities);

#endif
