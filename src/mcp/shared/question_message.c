/*
 * mcp/shared/question_message: the message of a question, as a client shows it.
 *
 * Some clients show a person nothing but the message. So, in both eras, that of a question which is
 * asked again says what was wrong with the last answer; and one that has not all arguments in it
 * says where the inbox shows them, if it does.
 */
#include "mcp/shared/question_message.h"

#include "core/problems.h"
#include "core/record.h"
#include "mcp/shared/server_inside.h"

struct str question_page(const struct mcp_server *server, struct str ask_id, struct arena *arena)
{
    const struct front *pages = server->pages;

    if (!pages || !front_is_linked(pages))
        return STR_NONE;
    return front_link(pages, arena_fmt(arena, "/ask/" STR_FMT, STR_ARG(ask_id)), arena);
}

struct str question_message(const struct mcp_server *server, struct arena *arena,
                            const struct ask_record *ask, struct str problems)
{
    struct str message = ask->message;

    if (ask->listed == LISTED && args_are_cut(ask)) {
        struct str page = question_page(server, ask->id, arena);
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
