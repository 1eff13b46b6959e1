/*
 * mcp/wire/limits: how large a message may be, and what is said of one that is larger.
 */
#ifndef NOD_MCP_WIRE_LIMITS_H
#define NOD_MCP_WIRE_LIMITS_H

#include "base/str.h"
#include "json/value.h"

enum {
    MCP_MESSAGE_MAX = 16 << 20, /* bytes of one message we send */
    MCP_BODY_MAX = 4 << 20,     /* bytes of one message that comes */
    MCP_VALUES_MAX = 20000,     /* JSON values in it */
    MCP_TREE_MAX = 64 << 20,    /* memory of one parsed message */
    MCP_TREE_KEEP = 256 << 10,  /* bytes of that which are kept for the next one */
};

/* "The result" and the like, which we cannot send. */
#define MCP_TOO_LARGE(what) STR(what " is larger than the 16 MiB that a message may have.")
#define MCP_TOO_LARGE_OR_WRONG(what)                                                               \
    STR(what " is larger than the 16 MiB that a message may have, or is not valid.")
_Static_assert(MCP_MESSAGE_MAX == 16 << 20, "as MCP_TOO_LARGE says");
/* How a sentence about a message goes on that is JSON, but too much of it. */
#define MCP_AT_MOST(error)                                                                         \
    ((error)->status == NOD_E_LIMIT ? " (at most 20000 values, nested 64 deep)" : "")
_Static_assert(MCP_VALUES_MAX == 20000 && JSON_DEPTH_DEFAULT == 64, "as MCP_AT_MOST says");

#endif
