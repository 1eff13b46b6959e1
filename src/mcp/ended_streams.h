/*
 * mcp/ended_streams: streams that have ended, for those whose connection died (era 2025).
 *
 * What was written to a connection need not have arrived, and nobody may notice for minutes that it
 * did not. So an ended stream stays for MCP_STREAM_KEEP_MS, and goes earlier only when there are
 * more bytes of them than a session, a principal, or all together may have.
 */
#ifndef NOD_MCP_ENDED_STREAMS_H
#define NOD_MCP_ENDED_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

enum {
    MCP_KEPT_BYTES_SESSION = 8 << 20,    /* of ended streams that a session keeps for redelivery */
    MCP_KEPT_BYTES_PRINCIPAL = 64 << 20, /* and all sessions of one principal */
    MCP_KEPT_BYTES_MAX = 512 << 20,      /* and all there are */
    MCP_STREAM_KEEP_MS = 300000,         /* an ended stream can be resumed that long */
};

struct ended_streams;
struct mcp_server;
struct mcp_stream;

/* Ended streams of a session, or of a principal, in the order in which they go. */
struct ended_pile {
    struct list written; /* that went out whole on a connection: perhaps they arrived */
    struct list lost;    /* that did not */
    size_t bytes;
};

struct ended_entry {
    struct list by_age;     /* of the server; empty: it is not kept */
    struct list of_session; /* in one list of the session's pile */
    struct list of_keeper;  /* and of the principal's */
    struct keeper *keeper;  /* the principal's pile */
    int64_t until_ms;       /* monotonic */
    size_t bytes;
};

struct ended_streams *ended_streams_create(void);
void ended_streams_destroy(struct ended_streams *kept);

void ended_pile_init(struct ended_pile *pile);
static inline bool ended_pile_empty(const struct ended_pile *pile)
{
    return list_empty(&pile->written) && list_empty(&pile->lost);
}

void ended_entry_init(struct ended_entry *stream);
/* It has ended. Others may be destroyed to make room. */
void ended_streams_add(struct mcp_stream *stream);
/* All of it was written to a connection. */
void ended_streams_written(struct mcp_stream *stream);
/* It is being destroyed. Harmless for one that is not kept. */
void ended_streams_remove(struct mcp_stream *stream);
/* Destroys those whose time is up. */
void ended_streams_sweep(struct mcp_server *server, int64_t now);

#endif
