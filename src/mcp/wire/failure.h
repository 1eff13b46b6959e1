/*
 * mcp/wire/failure: how a failure is told to a client: its JSON-RPC code, and the facts that
 * programs read.
 *
 * The core says what went wrong in its own words (core/outcome.h). This file turns them into MCP's,
 * in both eras. Nothing else gives a JSON-RPC code to an outcome.
 */
#ifndef NOD_MCP_WIRE_FAILURE_H
#define NOD_MCP_WIRE_FAILURE_H

#include "core/outcome.h"
#include "json/write.h"
#include "mcp/wire/revision.h"

/* Codes of MCP's own. The 2026 era sends neither. */
enum {
    MCP_RESOURCE_NOT_FOUND = -32002,
    MCP_URL_REQUIRED = -32042, /* its data names the pages that have to be opened first */
};

/* A page has to be opened first; error_data names it. */
bool failure_wants_page(const struct outcome *outcome);

/* The code of an outcome that is told as an error, in the 2025 era and in the 2026 era. */
int64_t failure_code2025(const struct outcome *outcome, enum revision_part part);
int64_t failure_code2026(const struct outcome *outcome);

/* The member content of a result, with one text. */
void content_text(struct json_writer *w, struct str text);
/* Writes the members content and isError of the result of a tool that failed. */
void failure_content(struct json_writer *w, const struct outcome *outcome);
/* Writes the members code, errorId, details and what else is known. Only the 2025 era tells the id
 * of an ask: it means nothing to a client of the 2026 era. */
void failure_facts2025(struct json_writer *w, const struct outcome *outcome);
void failure_facts2026(struct json_writer *w, const struct outcome *outcome);

#endif
