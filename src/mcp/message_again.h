/*
 * mcp/message_again: the message of a question that is asked again.
 */
#ifndef NOD_MCP_MESSAGE_AGAIN_H
#define NOD_MCP_MESSAGE_AGAIN_H

#include "base/arena.h"

/* The question, preceded by what was wrong with the last answer. `problems`: JSON, or empty. */
struct str message_again(struct arena *arena, struct str message, struct str problems);

#endif
