/*
 * mcp/era2026/ask: questions inside results, answers inside requests (multi round-trip requests).
 *
 * In the 2026 era a server never sends a request. It puts its questions into the result
 * (inputRequests), and the client sends its request again with the answers (inputResponses). The
 * wire key of an ask is its key.
 */
#ifndef NOD_MCP_ERA2026_ASK_H
#define NOD_MCP_ERA2026_ASK_H

#include "core/engine.h"
#include "json/write.h"

struct mcp_server;

enum {
    ASK2026_ATTEMPTS = 8
}; /* how often invalid content is asked again, unless the author says */

/* Answers that come inside requests, for callers of this era (caller2026, tasks). */
struct surface *ask2026_surface_create(const struct engine *engine);
void ask2026_surface_destroy(struct surface *surface);

/* May this be sent to a client that declares `can` (enum client_can)? A page of ours only if this
 * server still has it. */
bool ask2026_can(const struct engine *engine, uint8_t can, const struct ask_record *ask);

/*
 * Writes {"method": ..., "params": {...}}. `problems` (JSON, may be empty) is what was wrong with
 * the last answer; it precedes the message. False: it cannot be written.
 */
bool ask2026_write(struct json_writer *w, const struct mcp_server *server,
                   const struct ask_record *ask, struct str problems);

/*
 * The answer in one value of inputResponses. False: it does not have the shape of a response to
 * this kind of question. Content is not checked here.
 */
bool ask2026_read(const struct ask_record *ask, const struct json *response, struct answer *out);

/* Is this response the journalled answer? If the clock or the engine ended the ask, any response
 * is. */
bool ask2026_same(const struct entry *entry, const struct json *response, struct arena *arena);

#endif
