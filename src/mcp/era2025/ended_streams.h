/*
 * mcp/era2025/ended_streams: streams that have ended, kept for clients whose connection died (era
 * 2025).
 *
 * What was written to a connection may not have arrived, and it may take minutes to notice. So an
 * ended stream is kept for MCP_STREAM_KEEP_MS. One that has arrived goes earlier if a session, a
 * principal or the server has more bytes of ended streams than it may have. One that has not may
 * hold a result that nobody has fetched: it stays for as long as the store keeps results (--keep),
 * and counts against its principal, who makes no new calls past its share (mcp/shared/delivery).
 */
#ifndef NOD_MCP_ERA2025_ENDED_STREAMS_H
#define NOD_MCP_ERA2025_ENDED_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/str.h"

enum {
    MCP_KEPT_BYTES_SESSION = 8 << 20,    /* bytes of ended streams kept for a session */
    MCP_KEPT_BYTES_PRINCIPAL = 64 << 20, /* the same for all sessions of one principal */
    MCP_STREAM_KEEP_MS = 300000, /* how long an ended stream can be resumed; if lost, for --keep */
};

struct ended_streams;
struct mcp_server;
struct mcp_stream;

/* Ended streams of a session, or of a principal, in the order in which they go. */
struct ended_pile {
    struct list arrived; /* as far as is known */
    struct list lost;    /* not known to have arrived */
    size_t bytes;
    size_t lost_bytes; /* of these */
};

struct ended_entry {
    struct list by_age;     /* in the server's list; empty: it is not kept */
    struct list of_session; /* in one list of the session's pile */
    struct list of_keeper;  /* and of the principal's */
    struct keeper *keeper;  /* the principal's pile */
    int64_t until_ms;       /* monotonic */
    int64_t ended_ms;       /* the same */
    uint32_t bytes;
    bool lost;
};

struct ended_streams *ended_streams_create(void);
void ended_streams_destroy(struct ended_streams *kept);

void ended_pile_init(struct ended_pile *pile);
static inline bool ended_pile_empty(const struct ended_pile *pile)
{
    return list_empty(&pile->arrived) && list_empty(&pile->lost);
}

void ended_entry_init(struct ended_entry *stream);
/* The stream has ended: keeps it. Others may be destroyed to make room. */
void ended_streams_add(struct mcp_stream *stream);
/* The whole stream has arrived. */
void ended_streams_arrived(struct mcp_stream *stream);
/* Bytes of streams of this principal, or of all (empty), that are not known to have arrived. */
size_t ended_streams_lost(const struct mcp_server *server, struct str principal);
/* The stream is being destroyed. Does nothing if it is not kept. */
void ended_streams_remove(struct mcp_stream *stream);
/* Destroys streams whose time is up. */
void ended_streams_sweep(struct mcp_server *server, int64_t now);

#endif
