/* core/record: the words for what is remembered. */
#include "core/record.h"

struct str ask_state_name(enum ask_state state)
{
    static const struct str names[] = {
        [ASK_PENDING] = STR_INIT("pending"),         [ASK_ACCEPTED] = STR_INIT("accepted"),
        [ASK_DECLINED] = STR_INIT("declined"),       [ASK_CANCELLED] = STR_INIT("cancelled"),
        [ASK_EXPIRED] = STR_INIT("expired"),         [ASK_WITHDRAWN] = STR_INIT("withdrawn"),
        [ASK_UNSUPPORTED] = STR_INIT("unsupported"), [ASK_INVALID] = STR_INIT("invalid"),
    };
    return names[state];
}
