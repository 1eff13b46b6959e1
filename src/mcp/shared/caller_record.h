/*
 * mcp/shared/caller_record: how the client of a stored call can be reached again.
 *
 * It is kept with the call (call_record.caller), so that any node can run the call on and answer
 * the client when it comes back.
 */
#ifndef NOD_MCP_SHARED_CALLER_RECORD_H
#define NOD_MCP_SHARED_CALLER_RECORD_H

#include "base/arena.h"
#include "core/caller.h"
#include "core/record.h"

struct caller_record {
    bool held;          /* era 2025: a request on a stream; otherwise era 2026, or a task */
    uint8_t can;        /* enum client_can */
    uint8_t roles;      /* of its token, when it made the call: enum role */
    uint8_t revision;   /* held: enum revision */
    int64_t asks_until; /* wall clock: questions may wait until then; 0: the usual time */
    struct str id;      /* held: of the request, JSON */
    struct str token;   /* held: for progress, JSON; may be empty */
};

/* The client that it is about. */
struct client caller_record_client(const struct caller_record *by);
/* The client that made a call, as its record has it; nothing is known if it has none. */
struct client caller_record_maker(const struct call_record *record);

/* The text is in `arena`. */
struct str caller_record_write(struct arena *arena, const struct caller_record *by);
/* False: this nod cannot read it. The texts are in `arena`. */
bool caller_record_read(struct arena *arena, struct str text, struct caller_record *out);

#endif
