/*
 * mcp/headers: the names of MCP's HTTP headers, and whether those of a request agree with its body.
 *
 * In the 2026 era the headers repeat some of the body, and whatever does not agree is refused. Pure
 * functions.
 */
#ifndef NOD_MCP_HEADERS_H
#define NOD_MCP_HEADERS_H

#include "json/param_header.h"
#include "mcp/meta.h"
#include "net/http.h"

#define HEADER_VERSION      "MCP-Protocol-Version"
#define HEADER_SESSION      "Mcp-Session-Id"
#define HEADER_METHOD       "Mcp-Method"
#define HEADER_NAME         "Mcp-Name"
#define HEADER_PARAM_PREFIX "Mcp-Param-"

enum { HEADER_VALUE_MAX = 16384 }; /* bytes of a decoded header value */

/*
 * Is the header there once, in these very words? They are words that a header may have as they are:
 * our own, or those that header_is_plain says it of. False says nothing about the header.
 */
bool header_is(const struct http_request *http, struct str name, struct str words);
bool header_is_plain(struct str words);

/*
 * The value of a header that may be in the base64 form "=?base64?...?=". False for characters that
 * no header may have, and for base64 that is not one. The result may be in the arena.
 */
bool header_value(struct str raw, struct arena *arena, struct str *out);

/*
 * Do MCP-Protocol-Version, Mcp-Method and Mcp-Name agree with the body? `name` is what Mcp-Name
 * repeats; {NULL, 0} where the method has nothing like that.
 */
bool headers_agree(const struct http_request *http, struct str version, struct str method,
                   struct str name, struct arena *arena, struct meta_fault *fault);
/* The same for the arguments that a tool wants repeated as Mcp-Param-*. */
bool headers_params_agree(const struct http_request *http, const struct param_header *param_headers,
                          size_t count, const struct json *args, struct arena *arena,
                          struct meta_fault *fault);

#endif
