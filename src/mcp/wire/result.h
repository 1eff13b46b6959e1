/*
 * mcp/wire/result: results and errors of the 2026 era.
 *
 * Every result says of what type it is (resultType) and which server made it (serverInfo in its
 * _meta).
 */
#ifndef NOD_MCP_WIRE_RESULT_H
#define NOD_MCP_WIRE_RESULT_H

#include "core/outcome.h"
#include "json/write.h"
#include "mcp/wire/revision.h"

/* Who speaks: what MCP calls an Implementation. */
struct implementation {
    struct str name, title, version;
    struct str meta; /* the _meta that every result has, made once (result_meta); may be empty */
};

/* The first members of a result: resultType and _meta. Its object has just been opened. */
void result_begin(struct json_writer *w, const struct implementation *self, struct str type);
/* A whole response up to that point. Its two objects are open; a comma or their ends come next. */
void result_open(struct buf *out, const struct implementation *self, struct str id,
                 struct str type);
/* The _meta that every result has, for self->meta. False: it is too large. */
bool result_meta(struct buf *out, const struct implementation *self);
/* {"name","title","version"} */
void result_server_info(struct json_writer *w, const struct implementation *self);

/*
 * Writes the end of a call as a result object with the members above. False, and nothing is
 * written: the outcome is an error (result_error).
 */
bool result_of_outcome(struct buf *out, const struct implementation *self, enum revision_part part,
                       const struct outcome *outcome);
/* The call failed because its client did not declare what is needed to ask a person: -32021. */
bool result_lacks_capability(const struct outcome *outcome);
/* A whole response, result or error. Returns the HTTP status. */
int result_respond(struct buf *out, const struct implementation *self, struct str id,
                   enum revision_part part, const struct outcome *outcome);
/* The error object {"code","message","data"} of an outcome that has no result. Returns the HTTP
 * status. */
int result_error(struct json_writer *w, const struct outcome *outcome);
/* {"elicitation":{"form":{}}} and so on: what a client must declare to be asked this. */
struct str result_capability(enum ask_kind kind, bool tools);

#endif
