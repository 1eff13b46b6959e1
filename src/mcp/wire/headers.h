/*
 * mcp/wire/headers: the names of MCP's HTTP headers, and whether those of a request agree with its
 * body.
 *
 * In the 2026 era the headers repeat parts of the body, and a request whose headers and body differ
 * is refused. Pure functions.
 */
#ifndef NOD_MCP_WIRE_HEADERS_H
#define NOD_MCP_WIRE_HEADERS_H

#include "json/param_header.h"
#include "mcp/wire/meta.h"
#include "net/http.h"

#define HEADER_VERSION      "MCP-Protocol-Version"
#define HEADER_SESSION      "Mcp-Session-Id"
#define HEADER_METHOD       "Mcp-Method"
#define HEADER_NAME         "Mcp-Name"
#define HEADER_PARAM_PREFIX "Mcp-Param-"

enum { HEADER_VALUE_MAX = 16384 }; /* bytes of a decoded header value */

/*
 * Does the header occur once, with exactly these words? `words` must be text that needs no
 * encoding: our own, or text for which header_is_plain is true. False does not mean that the header
 * is wrong.
 */
bool header_is(const struct http_request *http, struct str name, struct str words);
bool header_is_plain(struct str words);

/*
 * Decodes the value of a header, which may be in the base64 form "=?base64?...?=". False: it has
 * characters that no header may have, or is not valid base64. The result may be in the arena.
 */
bool header_value(struct str raw, struct arena *arena, struct str *out);

/*
 * Do MCP-Protocol-Version, Mcp-Method and Mcp-Name agree with the body? `name` is what Mcp-Name
 * repeats; {NULL, 0} if the method has no such value.
 */
bool headers_agree(const struct http_request *http, struct str version, struct str method,
                   struct str name, struct arena *arena, struct meta_fault *fault);
/* The same for the arguments that a tool wants repeated as Mcp-Param-* headers. */
bool headers_params_agree(const struct http_request *http, const struct param_header *param_headers,
                          size_t count, const struct json *args, struct arena *arena,
                          struct meta_fault *fault);

#endif
