/*
 * mcp/wire/question_message: the message of a question, as a client shows it.
 *
 * Some clients show a person nothing but the message. So, in both eras, that of a question which is
 * asked again says what was wrong with the last answer; and one that has not all arguments in it
 * says where the inbox shows them, if it does.
 */
#include "mcp/wire/question_message.h"

#include "core/problems.h"
#include "core/record.h"
#include "mcp/later/pending.h"

struct str question_message(const struct mcp_server *server, struct arena *arena,
                            const struct ask_record *ask, struct str problems)
{
    struct str message = ask->message;

    if (ask->listed == LISTED && args_are_cut(ask)) {
        struct str page = pending_page(server, ask->id, arena);
        if (page.len)
            message = arena_fmt(arena, STR_FMT " It is, at " STR_FMT " .", STR_ARG(message),
                                STR_ARG(page));
    }
    struct str said = problems.len ? problems_sentence(arena, problems) : STR_NONE;
    if (!said.len)
        return message;
    bool ends = strchr(".!?", said.at[said.len - 1]); /* a hook's sentence */
    return arena_fmt(arena, "Your last answer could not be used: " STR_FMT "%s\n\n" STR_FMT,
                     STR_ARG(said), ends ? "" : ".", STR_ARG(message));
}
