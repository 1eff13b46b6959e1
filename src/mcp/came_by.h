/*
 * mcp/came_by: how the client of a stored call can be reached again.
 *
 * It is kept with the call (call_record.caller), so that any node can run the call on, and answer
 * whoever comes back for it.
 */
#ifndef NOD_MCP_CAME_BY_H
#define NOD_MCP_CAME_BY_H

#include "mcp/session.h"

struct came_by {
    bool held;          /* era 2025: a request on a stream; otherwise era 2026, or a task */
    uint8_t can;        /* enum session_can */
    uint8_t revision;   /* held: enum revision */
    int64_t asks_until; /* wall clock: questions may wait till then; 0: the usual time */
    struct str id;      /* held: of the request, JSON */
    struct str token;   /* held: for progress, JSON; may be empty */
};

/* Into `arena`. */
struct str came_by_write(struct arena *arena, const struct came_by *by);
/* False: nobody here can read it. The texts are in `arena`. */
bool came_by_read(struct arena *arena, struct str text, struct came_by *out);

#endif
