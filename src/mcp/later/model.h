/*
 * mcp/later/model: the model as the last resort.
 *
 * Some clients have no elicitation at all. Where no other surface can put a question to the person
 * behind such a client, the model is told to: the call returns a pending result at once
 * (mcp/later/pending) whose text begins "This tool requires user input", and whose
 * _meta.elicitationPending has the question. The tool sendElicitationResult brings the answer, and
 * returns what comes next: the result of the call, or its next question.
 *
 * The id of a question is that of its ask: 128 random bits, answered once, until the ask expires,
 * by the principal that was asked, and in the 2025 era in its session.
 *
 * Holds always: what a model says is data. It is consent only if the operator has said so
 * (core/plan.c). The tool exists for clients without elicitation only.
 */
#ifndef NOD_MCP_LATER_MODEL_H
#define NOD_MCP_LATER_MODEL_H

#include "json/write.h"
#include "mcp/shared/server_inside.h"

#define MODEL_TOOL STR("sendElicitationResult")

/* Freed with the server; NULL: it is off. */
struct model;
void model_destroy(struct model *model);

/* Is one of the call's questions put to the model of the client that waits for the call? */
bool model_is_asked(const struct mcp_server *server, const struct call *call);
/* Or to the one in the session that made the call, which is another one? */
bool model_is_asked_elsewhere(const struct mcp_server *server, const struct call *call);

/* --- the parts of a pending result, if one is --- */

/* What the model reads. `page`, which may be empty: where a person can answer. */
struct str model_text(const struct mcp_server *server, const struct call *call, struct str page,
                      struct arena *arena);
/* Members of its structured content. */
void model_write_facts(const struct mcp_server *server, const struct call *call,
                       struct json_writer *w);
/* The member elicitationPending of its _meta. */
void model_write_meta(const struct mcp_server *server, const struct call *call,
                      struct json_writer *w);

#endif
