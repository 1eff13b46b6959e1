/*
 * mcp/later/own_tool: tools of nod's own, and the one provider that they have.
 *
 *     waitForPerson            mcp/later/pending         names a call that was made before, and
 * waits for it sendElicitationResult    mcp/later/model           answers a question of such a call
 * first nodQuestions             mcp/later/view_questions  for views: what waits for the person
 *     nodAnswer                mcp/later/view_answer     for views: the answer of the person
 *
 * The resource ui://nod/ask, the view itself (mcp/later/view_page), is made in the same way.
 */
#ifndef NOD_MCP_LATER_OWN_TOOL_H
#define NOD_MCP_LATER_OWN_TOOL_H

#include "core/provider.h"
#include "mcp/shared/server_inside.h"

struct attach_wish;
struct own_tool;
struct schema_problems;

struct own_tool_ops {
    /*
     * A request of the tool never becomes a call: it finds one that was made before
     * (mcp/later/attach_tool). What a request with these arguments wants; what the wish points to
     * lives as long as the arguments and the arena. False: they do not say it, and `problems` says
     * why. NULL: its requests are calls.
     */
    bool (*read)(const struct own_tool *tool, const struct json *args, struct arena *arena,
                 struct attach_wish *out, struct schema_problems *problems);
    /* Its calls: see provider_ops. */
    void (*start)(struct own_tool *tool, struct run *run);
    void (*cancelled)(struct run *run); /* may be NULL */
    /* No call has the target any more. May be NULL. */
    void (*released)(struct own_tool *tool);
};

struct own_tool {
    const struct own_tool_ops *ops;
    struct mcp_server *server;
    void *data; /* its owner's */
    struct target target;
    bool added; /* it is in the catalog: nothing of the author has its name */
};

/* Kind, name, title, descriptor and `listed` of the target are set. False: the name is taken. */
bool own_tool_add(struct own_tool *tool, struct mcp_server *server);
void own_tool_remove(struct own_tool *tool);
/* The tool behind a target, or NULL if it is none of these. */
struct own_tool *own_tool_of(const struct target *target);

#endif
