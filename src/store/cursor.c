/*
 * store/cursor: where a page of a listing ended; see cursor.h.
 */
#include "store/cursor.h"

#include <stdio.h>

bool cursor_read(struct str text, struct cursor *out)
{
    struct str digits, name;
    bool negative = str_starts(text, STR("-"));
    uint64_t at;

    *out = (struct cursor){ 0 };
    if (text.len == 0)
        return true;
    if (text.len >= CURSOR_TEXT_MAX || !str_cut(str_skip(text, negative), '.', &digits, &name) ||
        !str_to_u64(digits, &at) || at > INT64_MAX || name.len == 0)
        return false;
    *out = (struct cursor){ true, negative ? -(int64_t)at : (int64_t)at, name };
    return true;
}

struct str cursor_write(char out[CURSOR_TEXT_MAX], int64_t at, struct str name)
{
    int most = CURSOR_TEXT_MAX - 24, len = name.len < (size_t)most ? (int)name.len : most;

    len = snprintf(out, CURSOR_TEXT_MAX, "%lld.%.*s", (long long)at, len, name.at);
    return str_n(out, (size_t)len);
}
