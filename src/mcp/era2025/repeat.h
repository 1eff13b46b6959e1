/*
 * mcp/era2025/repeat: the same request again (era 2025).
 *
 * Within a session, the id of a request names one call, on every node and for as long as the call's
 * result is kept. If a proxy or a client sends a request again, it gets that call's stream or
 * result. The same id with other params is refused.
 */
#ifndef NOD_MCP_ERA2025_REPEAT_H
#define NOD_MCP_ERA2025_REPEAT_H

#include "mcp/era2025/caller.h"

/* The id of the call that a request of this session stands for, on every node. */
void repeat2025_call(const struct session *session, struct str request_id, struct id *out);

/* What a request calls, by name: the target need not be here. */
struct repeat_of {
    enum target_kind kind;
    struct str target; /* a resource is named by its uri alone */
    struct str uri;
    const struct json *args;
    const struct digest *args_digest; /* digest_of_args; NULL: it is not known yet */
};

/* A digest of what a request asks for. Progress tokens and the like may differ. */
void repeat2025_wish(const struct repeat_of *of, struct digest *out);

/*
 * A request over HTTP, not in an array, is about to become this call. True: the request is handled
 * here, because it has come before or because the store is asked whether it has.
 */
bool repeat2025_take(struct request *request, const struct repeat_of *of, const struct id *call_id);

/*
 * A request calls what this node does not have. True: the request is handled here, because it may
 * have come before the target went, or at a node that has the target.
 */
bool repeat2025_gone(struct request *request, const struct wanted *wanted);

#endif
