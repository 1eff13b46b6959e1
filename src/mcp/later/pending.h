/*
 * mcp/later/pending: no client is left holding a call for ever.
 *
 * Most clients give up on a request after 60 s. A call whose questions are up elsewhere only, in
 * the inbox, may wait for longer. So at the soft deadline it returns a pending result: no error,
 * but a result that says what is waited for, where it can be answered, and by which handle the call
 * is found again (mcp/later/handle). The tool waitForPerson takes the handle and waits on, up to
 * its own soft deadline. It is listed to clients whose calls may come to that, and the output
 * schemas of all tools are widened for them, so that a pending result fits.
 *
 * pending.c     the soft deadline, the result, the tool, the widened schemas
 * model.c       what a result says if the model is to ask the person
 * handle.c      the records
 * era2025/soft.c    the soft deadline of a held request (era 2025)
 * era2025/attach.c  a request that finds its call again (era 2025)
 * era2026/attach.c  the same (era 2026)
 *
 * Holds always: a pending result contains nothing secret. Its handle is of use to the principal of
 * the call only.
 */
#ifndef NOD_MCP_LATER_PENDING_H
#define NOD_MCP_LATER_PENDING_H

#include "base/buf.h"
#include "json/write.h"
#include "mcp/later/own_tool.h"
#include "mcp/shared/request.h"

enum {
    PENDING_SOFT_MS = 50000,    /* the soft deadline, below the 60 s of the usual clients */
    PENDING_BODY_MAX = 2 << 20, /* bytes of a pending result */
    PENDING_SHOWN_MAX = 4096,   /* bytes of a question that are shown in it */
};

#define PENDING_TOOL STR("waitForPerson")

struct pending {
    struct id self;       /* this process, in the records of handles */
    struct own_tool tool; /* waitForPerson */
};

struct pending *pending_create(struct mcp_server *server);
void pending_destroy(struct pending *pending);

/* May calls of this client, which can be asked this (enum client_can), end in a pending result? */
bool pending_may_come(struct mcp_server *server, struct target *target, unsigned can,
                      role_set roles);

/* How long a call of this target is held, for a client of this name. */
int64_t pending_soft_ms(const struct mcp_server *server, const struct target *target,
                        struct str client);
/* How long a request of this call is held, if it is `usual` elsewhere: not at all where only a
 * result tells of the question. */
int64_t pending_hold_ms(const struct mcp_server *server, const struct call *call, int64_t usual);
/* The pending result of a call that waits, as JSON. If its questions have been answered elsewhere,
 * and another node works on it, it has none to show. */
void pending_write(struct mcp_server *server, const struct call *call, struct buf *out);
/* The same for a call that is not live here, because its tool is at another node. */
void pending_write_elsewhere(struct str call_id, struct buf *out);
/* How long the handle of a call that waits is remembered. */
int64_t pending_keep_ms(const struct mcp_server *server, const struct call *call);
/* The listing of a tool with an output schema, for a client that may get pending results. */
struct str pending_widen(struct arena *arena, struct str descriptor);

#endif
