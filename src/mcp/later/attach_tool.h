/*
 * mcp/later/attach_tool: tools of nod's own, whose requests find a call that was made before.
 *
 * A request of such a tool never becomes a call of the engine. It names a call, or it answers a
 * question of one. Then it waits for that call as the request that made it did (era2025/attach.c,
 * era2026/attach.c), and is given the call's result, what the call asks next, or a pending result.
 *
 *     waitForPerson            mcp/later/pending  names the call
 *     sendElicitationResult    mcp/later/model    answers a question first
 *
 * Holds always: an answer goes through ask_answer, with the principal that the front door has
 * verified. What it was refused for is told to nobody but a principal that may know of the ask.
 */
#ifndef NOD_MCP_LATER_ATTACH_TOOL_H
#define NOD_MCP_LATER_ATTACH_TOOL_H

#include "json/schema.h"
#include "mcp/shared/server_inside.h"

struct own_tool;

struct attach_wish {    /* what a request of such a tool wants */
    struct str call_id; /* to wait for this call; or, if it is empty: */
    struct str ask_id;  /* to answer this question, and to wait for its call */
    enum ask_state action;
    const struct json *content;
    const struct surface *surface; /* where the answer is given */
    bool in_scope;                 /* the question must be of the scope of the request */
};

/* The tool (mcp/later/own_tool) behind a target, or NULL if it is none of these. */
const struct own_tool *attach_tool_of(const struct target *target);
/* What stands for the target of a request of such a tool. It outlives the server. */
struct target *attach_target(void);

/* --- in both eras --- */

/* What a request is told that cannot have the call. */
extern const char attach_not_known[], attach_was_collected[], attach_is_elsewhere[],
    attach_no_room[];

/* Reads the arguments. False: *refusal, whose text is in the arena, says what is wrong. */
bool attach_read(const struct own_tool *tool, const struct json *args, struct arena *arena,
                 struct attach_wish *out, struct outcome *refusal);

/* `refusal` NULL: the answer counts, or has counted before, for a question of this call. Otherwise
 * it does not, and this says why. `server` false: the server is gone, and nobody is to be told. */
typedef void attach_answered(void *data, bool server, struct str call_id,
                             const struct outcome *refusal);
/* Answers the question of the wish. `done` is called once, perhaps before this returns. */
void attach_answer(struct mcp_server *server, const struct attach_wish *wish, struct visitor who,
                   struct str scope, attach_answered *done, void *data);

/* The answer counts, and another request waits for the call: what this one is told. */
struct outcome attach_taken(void);

#endif
