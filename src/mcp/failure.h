/*
 * mcp/failure: how a failure is told to a client: its JSON-RPC code, and the facts that programs
 * read.
 *
 * The core says what went wrong in its own words (core/outcome.h). Here they become MCP's, in both
 * eras; nothing else gives a JSON-RPC code to an outcome.
 */
#ifndef NOD_MCP_FAILURE_H
#define NOD_MCP_FAILURE_H

#include "core/outcome.h"
#include "json/write.h"
#include "mcp/revision.h"

/* Codes that are MCP's own; the 2026 era sends neither. */
enum {
    MCP_RESOURCE_NOT_FOUND = -32002,
    MCP_URL_REQUIRED = -32042, /* with the pages that have to be opened first */
};

/* A page has to be opened first; error_data names it. */
bool failure_wants_page(const struct outcome *outcome);

/* The code of an outcome that is told as an error, in the era of 2025 and in that of 2026. */
int64_t failure_code2025(const struct outcome *outcome, enum revision_part part);
int64_t failure_code2026(const struct outcome *outcome);

/* The members code, errorId, details and what else is known. The id of an ask is one of them in the
 * 2025 era only: it has no meaning to a client of 2026. */
void failure_facts2025(struct json_writer *w, const struct outcome *outcome);
void failure_facts2026(struct json_writer *w, const struct outcome *outcome);

#endif
