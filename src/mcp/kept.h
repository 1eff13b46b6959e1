/*
 * mcp/kept: streams that have ended, for those whose connection died (era 2025).
 *
 * What was written to a connection need not have arrived, and nobody may notice for minutes that it
 * did not. So an ended stream stays for MCP_STREAM_KEEP_MS, and goes earlier only when there are
 * more bytes of them than a session, a principal, or all together may have.
 */
#ifndef NOD_MCP_KEPT_H
#define NOD_MCP_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

struct kept;
struct mcp_server;
struct mcp_stream;

/* Ended streams of a session, or of a principal, in the order in which they go. */
struct kept_pile {
    struct list written; /* that went out whole on a connection: perhaps they arrived */
    struct list lost;    /* that did not */
    size_t bytes;
};

struct kept_stream {
    struct list by_age;     /* of the server; empty: it is not kept */
    struct list of_session; /* in one list of the session's pile */
    struct list of_keeper;  /* and of the principal's */
    struct keeper *keeper;  /* the principal's pile */
    int64_t until_ms;       /* monotonic */
    size_t bytes;
};

struct kept *kept_create(void);
void kept_destroy(struct kept *kept);

void kept_pile_init(struct kept_pile *pile);
static inline bool kept_pile_empty(const struct kept_pile *pile)
{
    return list_empty(&pile->written) && list_empty(&pile->lost);
}

void kept_stream_init(struct kept_stream *stream);
/* It has ended. Others may be destroyed to make room. */
void kept_add(struct mcp_stream *stream);
/* All of it was written to a connection. */
void kept_written(struct mcp_stream *stream);
/* It is being destroyed. Harmless for one that is not kept. */
void kept_remove(struct mcp_stream *stream);
/* Destroys those whose time is up. */
void kept_sweep(struct mcp_server *server, int64_t now);

#endif
