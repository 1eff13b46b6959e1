/*
 * core/tool_name: see tool_name.h.
 */
#include "core/tool_name.h"

static char shown(char c)
{
    bool taken =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';

    return taken ? c : '_';
}

struct str tool_name_shown(struct str path, char *out)
{
    for (size_t i = 0; i < path.len; i++)
        out[i] = shown(path.at[i]);
    return str_n(out, path.len);
}

bool tool_name_is_of(struct str name, struct str path)
{
    bool same = name.len == path.len;

    for (size_t i = 0; same && i < path.len; i++)
        same = name.at[i] == shown(path.at[i]);
    return same || str_eq(name, path);
}

bool tool_names_meet(struct str path, struct str other)
{
    bool same = path.len == other.len;

    for (size_t i = 0; same && i < path.len; i++)
        same = shown(path.at[i]) == shown(other.at[i]);
    return same;
}
