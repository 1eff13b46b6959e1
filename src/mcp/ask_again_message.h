/*
 * mcp/ask_again_message: the message of a question that is asked again.
 */
#ifndef NOD_MCP_ASK_AGAIN_MESSAGE_H
#define NOD_MCP_ASK_AGAIN_MESSAGE_H

#include "base/arena.h"

/* The question, preceded by what was wrong with the last answer. `problems`: JSON, or empty. */
struct str message_again(struct arena *arena, struct str message, struct str problems);

#endif
