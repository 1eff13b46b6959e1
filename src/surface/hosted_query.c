/*
 * surface/hosted_query: what a foreign page sends back, as the query of /a/return.
 *
 * It comes from elsewhere and becomes the content of an answer, so it is read strictly: every
 * member once, encoded as it should be, without NUL, in valid UTF-8, and not too many.
 */
#include "json/utf8.h"
#include "surface/api.h"
#include "surface/hosted.h"

static bool decode(struct arena *arena, struct str from, struct str *to)
{
    return api_decode(arena, from, to) && utf8_valid(*to);
}

bool hosted_read_query(struct arena *arena, struct str query, struct hosted_param *members,
                       size_t *count, struct str *state)
{
    struct str pair, name, value;

    *count = 0;
    *state = STR_NONE;
    for (bool more = query.len > 0; more;) {
        struct hosted_param one;
        more = str_cut(query, '&', &pair, &query);
        if (!pair.len)
            continue;
        value = STR_NONE;
        str_cut(pair, '=', &name, &value);
        if (!decode(arena, name, &one.name) || !decode(arena, value, &one.value))
            return false;
        if (str_eq(one.name, STR("state"))) {
            if (state->at)
                return false;
            *state = one.value;
            continue;
        }
        for (size_t i = 0; i < *count; i++)
            if (str_eq(members[i].name, one.name))
                return false;
        if (*count == HOSTED_QUERY_MAX)
            return false;
        members[(*count)++] = one;
    }
    return true;
}
