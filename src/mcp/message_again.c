/*
 * mcp/message_again: the message of a question that is asked again.
 *
 * In both eras it says what was wrong with the last answer, because some clients show a person
 * nothing but the message.
 */
#include "mcp/message_again.h"

#include "base/buf.h"
#include "json/value.h"

enum {
    MESSAGE_MAX = 8 << 20,    /* bytes of the message with what was wrong */
    MESSAGE_PROBLEMS_MAX = 8, /* problems that a message names */
};

static void add_problem(struct buf *text, const struct json *problem)
{
    struct str path = json_get_str(problem, STR("path"));

    if (path.len) {
        buf_add(text, path);
        buf_add(text, STR(": "));
    }
    buf_add(text, json_get_str(problem, STR("message")));
}

struct str message_again(struct arena *arena, struct str message, struct str problems)
{
    const struct json *list = problems.len ? json_parse(arena, problems, NULL, NULL) : NULL;
    struct buf text;
    size_t shown = 0;

    if (!json_first(list))
        return message;
    buf_init(&text, MESSAGE_MAX);
    buf_add(&text, STR("Your last answer could not be used: "));
    JSON_EACH (problem, list) {
        if (shown == MESSAGE_PROBLEMS_MAX)
            break;
        if (shown++)
            buf_add(&text, STR("; "));
        add_problem(&text, problem);
    }
    buf_add(&text, STR(".\n\n"));
    buf_add(&text, message);
    struct str whole = arena_str(arena, buf_str(&text));
    buf_finish(&text);
    return whole;
}
