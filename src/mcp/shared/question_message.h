/*
 * mcp/shared/question_message: the message of a question, as a client shows it.
 */
#ifndef NOD_MCP_SHARED_QUESTION_MESSAGE_H
#define NOD_MCP_SHARED_QUESTION_MESSAGE_H

#include "base/arena.h"

struct mcp_server;
struct ask_record;

/* Preceded by what was wrong with the last answer (`problems`: JSON, or empty), and followed by
 * where the arguments are that it does not show. Mostly the message itself. */
struct str question_message(const struct mcp_server *server, struct arena *arena,
                            const struct ask_record *ask, struct str problems);

/* The page on which this ask can be answered; empty: there is none. */
struct str question_page(const struct mcp_server *server, struct str ask_id, struct arena *arena);

#endif
