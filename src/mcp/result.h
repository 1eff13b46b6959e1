/*
 * mcp/result: results and errors as the 2026 era has them.
 *
 * Every result says what kind it is (resultType) and who made it (serverInfo in its _meta).
 */
#ifndef NOD_MCP_RESULT_H
#define NOD_MCP_RESULT_H

#include "core/outcome.h"
#include "json/write.h"
#include "mcp/revision.h"
#include "mcp/server.h"

/* The first members of a result whose object has just been opened: resultType and _meta. */
void result_begin(struct json_writer *w, const struct mcp_opts *opts, struct str type);
/* A whole response up to there: its two objects are open, and a comma or their ends come next. */
void result_open(struct buf *out, const struct mcp_opts *opts, struct str id, struct str type);
/* The _meta that every result has, for opts->result_meta. False: it is too large. */
bool result_meta(struct buf *out, const struct mcp_opts *opts);
/* {"name","title","version"} */
void result_server_info(struct json_writer *w, const struct mcp_opts *opts);

/*
 * How a call ended, as a result object with the members above, or as false with nothing written:
 * it is an error then (result_error).
 */
bool result_of_outcome(struct buf *out, const struct mcp_opts *opts, enum revision_part part,
                       const struct outcome *outcome);
/* It failed because its client did not declare what would be needed to ask a person: -32021. */
bool result_lacks_capability(const struct outcome *outcome);
/* A whole response: result or error. Gives the HTTP status. */
int result_respond(struct buf *out, const struct mcp_opts *opts, struct str id,
                   enum revision_part part, const struct outcome *outcome);
/* The error object {"code","message","data"} of an outcome that has no result; gives the HTTP
 * status. */
int result_error(struct json_writer *w, enum revision_part part, const struct outcome *outcome);
/* {"elicitation":{"form":{}}} and so on: what a client must declare to be asked this. */
struct str result_capability(enum ask_kind kind, bool tools);

#endif
