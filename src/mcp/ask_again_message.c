/*
 * mcp/ask_again_message: the message of a question that is asked again.
 *
 * In both eras it says what was wrong with the last answer, because some clients show a person
 * nothing but the message.
 */
#include "mcp/ask_again_message.h"

#include "core/problems.h"

struct str message_again(struct arena *arena, struct str message, struct str problems)
{
    struct str said = problems_sentence(arena, problems);

    if (!said.len)
        return message;
    return arena_fmt(arena, "Your last answer could not be used: " STR_FMT ".\n\n" STR_FMT,
                     STR_ARG(said), STR_ARG(message));
}
