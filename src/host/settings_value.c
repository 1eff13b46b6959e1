/*
 * host/settings_value: times, addresses and rules, as the texts of settings say them.
 */
#include "host/settings.h"

static const struct {
    char letter;
    int64_t ms;
} units[] = { { 'd', 86400000 }, { 'h', 3600000 }, { 'm', 60000 }, { 's', 1000 } };

bool settings_duration(struct str text, int64_t *ms)
{
    int64_t count;

    if (text.len < 2 || text.at[0] < '0' || text.at[0] > '9' ||
        !str_to_i64(str_n(text.at, text.len - 1), &count))
        return false;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (units[i].letter != text.at[text.len - 1])
            continue;
        if (count <= 0 || count > SETTINGS_TIME_MAX_MS / units[i].ms)
            return false;
        *ms = count * units[i].ms;
        return true;
    }
    return false;
}

void settings_time(int64_t ms, struct buf *out)
{
    size_t i = 0;

    while (i + 1 < sizeof(units) / sizeof(units[0]) && ms % units[i].ms)
        i++;
    if (ms < units[i].ms)
        buf_fmt(out, "%lld ms", (long long)ms);
    else
        buf_fmt(out, "%lld%c", (long long)(ms / units[i].ms), units[i].letter);
}

/* Only digits, 0 to 65535. */
static bool read_port(struct str text, int *port)
{
    int64_t n;

    if (text.len == 0 || text.len > 5 || text.at[0] < '0' || text.at[0] > '9' ||
        !str_to_i64(text, &n) || n < 0 || n > 65535)
        return false;
    *port = (int)n;
    return true;
}

bool settings_address(struct str text, struct str *host, int *port)
{
    size_t colon = text.len;

    *host = STR("127.0.0.1");
    *port = 0;
    if (str_starts(text, STR("unix:"))) {
        *host = text;
        return text.len > strlen("unix:");
    }
    if (read_port(text, port))
        return true;
    while (colon > 0 && text.at[colon - 1] != ':')
        colon--;
    if (colon == 0 || !read_port(str_skip(text, colon), port))
        return false;
    struct str before = str_n(text.at, colon - 1);
    if (before.len && before.at[0] == '[') {
        if (before.len < 3 || before.at[before.len - 1] != ']')
            return false;
        *host = str_n(before.at + 1, before.len - 2);
        return true;
    }
    if (before.len)
        *host = before;
    return !before.len || !memchr(before.at, ':', before.len); /* IPv6 needs its brackets */
}

bool settings_soft_deadline(struct str text, bool *tool, struct str *name, int64_t *ms)
{
    struct str time;

    *tool = str_starts(text, STR("tool:"));
    if ((!*tool && !str_starts(text, STR("client:"))) || !str_cut(text, '=', name, &time))
        return false;
    *name = str_skip(*name, strlen(*tool ? "tool:" : "client:"));
    return name->len && settings_duration(time, ms);
}
