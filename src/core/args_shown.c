/*
 * core/args_shown: the arguments in the message of a question.
 *
 * A client shows its person the message of a question and nothing else, so the arguments that are
 * to be allowed are in it (json/shown.h). If they are not all there, the message ends by saying how
 * much is missing, and where it is. That has to be true at every node and after every restart,
 * because a message is a part of what a replay must repeat: it names no address.
 */
#include "core/inside.h"

#include "json/shown.h"

struct str run_show_args(struct run *run, const struct json *args, bool own, bool lines)
{
    char count[SHOWN_COUNT_MAX];
    struct buf out;

    buf_init(&out, SHOWN_ROOM);
    size_t left_out = json_show(&out, args, lines);
    struct str text = arena_str(&run->arena, buf_str(&out));
    buf_finish(&out);
    if (!left_out)
        return text;
    return arena_fmt(&run->arena, STR_FMT "\n\nNot shown: %s byte%s of the arguments. " STR_FMT,
                     STR_ARG(text), shown_count(count, left_out), left_out == 1 ? "" : "s",
                     STR_ARG(own || run->args_changed ? ARGS_NOWHERE : ARGS_ELSEWHERE));
}

bool args_are_cut(const struct ask_record *ask)
{
    return ask->kind == ASK_APPROVAL && str_ends(ask->message, ARGS_ELSEWHERE);
}
