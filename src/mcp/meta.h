/*
 * mcp/meta: what a request of the 2026 era says about itself, and whether its headers agree.
 *
 * Every request carries its version and its client's capabilities in params._meta; over HTTP the
 * headers repeat some of the body, and whatever does not agree is refused. Pure functions.
 */
#ifndef NOD_MCP_META_H
#define NOD_MCP_META_H

#include "base/arena.h"
#include "json/param_header.h"
#include "net/http.h"

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
    META_NO_LOG = 255,       /* meta.log_level: no log messages at all */
    META_HEADER_MAX = 16384, /* bytes of a decoded header value */
};

struct meta {
    struct str version;
    const struct json *capabilities; /* an object; lives as long as the message */
    uint8_t can;                     /* enum client_can: what the client declares */
    bool tasks;                      /* it declares the extension io.modelcontextprotocol/tasks */
    uint8_t log_level;               /* nod_log_level, or META_NO_LOG */
    struct str progress_token;       /* JSON text, or empty */
};

/* Why a request is refused before it is looked at: an error with its HTTP status. */
struct meta_fault {
    int status;
    int64_t code;
    struct str message;
    struct str data; /* JSON, or empty */
};

/* Does params._meta show a client of the 2026 era, whether or not it is complete? */
bool meta_is_modern(const struct json *params);

/* False with the fault, whose text is in the arena. */
bool meta_read(const struct json *params, struct arena *arena, struct meta *out,
               struct meta_fault *fault);

/* The refusal of a version: -32022 with those there are. */
void meta_unsupported(struct str requested, struct arena *arena, struct meta_fault *fault);

/* The capability bits (enum client_can) of a ClientCapabilities object. */
uint8_t meta_can(const struct json *capabilities);

/*
 * Is the header there once, in these very words? They are words that a header may have as they are:
 * our own, or those that meta_is_plain says it of. False says nothing about the header.
 */
static inline bool meta_header_is(const struct http_request *http, enum http_name name,
                                  struct str words)
{
    size_t place = http->index.first[name];

    return place && !(http->index.again >> name & 1) &&
           str_same(http->headers[place - 1].value, words);
}
bool meta_is_plain(struct str words);

/*
 * Do MCP-Protocol-Version, Mcp-Method and Mcp-Name agree with the body? `name` is what Mcp-Name
 * repeats; {NULL, 0} where the method has nothing like that.
 */
bool meta_headers_agree(const struct http_request *http, struct str version, struct str method,
                        struct str name, struct arena *arena, struct meta_fault *fault);
/* The same for the arguments that a tool wants repeated as Mcp-Param-*. */
bool meta_params_agree(const struct http_request *http, const struct param_header *param_headers,
                       size_t count, const struct json *args, struct arena *arena,
                       struct meta_fault *fault);

/*
 * The value of a header that may be in the base64 form "=?base64?...?=". False for characters that
 * no header may have, and for base64 that is not one. The result may be in the arena.
 */
bool meta_header_value(struct str raw, struct arena *arena, struct str *out);

#endif
