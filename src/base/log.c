/* base/log: builds a line on the stack and writes it whole; see log.h. */
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static struct log_opts settings = { .level = LOG_LEVEL_INFO, .fd = 2 };

static const struct {
    struct str word;
    int journald;
} levels[] = {
    [LOG_LEVEL_ERROR] = { STR_INIT("error"), 3 },
    [LOG_LEVEL_WARN] = { STR_INIT("warn"), 4 },
    [LOG_LEVEL_INFO] = { STR_INIT("info"), 6 },
    [LOG_LEVEL_DEBUG] = { STR_INIT("debug"), 7 },
};

/* A line being built: what does not fit is left off, never written behind the end. */
struct line {
    char text[LOG_LINE_MAX];
    size_t len;
};

static void put(struct line *line, char c)
{
    if (line->len < LOG_LINE_MAX - 2) /* room for a closing quote or brace, and the newline */
        line->text[line->len++] = c;
}

static void put_plain(struct line *line, struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        put(line, s.at[i]);
}

static void put_quoted(struct line *line, struct str s)
{
    put(line, '"');
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.at[i];
        char escape[8];
        if (c == '"' || c == '\\') {
            put(line, '\\');
            put(line, (char)c);
        } else if (c < 0x20 || c == 0x7f) {
            snprintf(escape, sizeof(escape), "\\u%04x", c);
            put_plain(line, str_of(escape));
        } else {
            put(line, (char)c);
        }
    }
    put(line, '"');
}

static bool needs_quotes(struct str s)
{
    if (s.len == 0)
        return true;
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.at[i];
        if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c >= 0x7f)
            return true;
    }
    return false;
}

static void put_field(struct line *line, const char *name, struct str value, bool number)
{
    bool json = settings.format == LOG_FORMAT_JSON;

    put(line, json ? ',' : ' ');
    if (json)
        put_quoted(line, str_of(name));
    else
        put_plain(line, str_of(name));
    put(line, json ? ':' : '=');
    if (number || (!json && !needs_quotes(value)))
        put_plain(line, value);
    else
        put_quoted(line, value);
}

static struct str time_text(char *out, size_t room)
{
    struct timespec now;
    struct tm utc;

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    size_t len = strftime(out, room, "%Y-%m-%dT%H:%M:%S", &utc);
    len += (size_t)snprintf(out + len, room - len, ".%03ldZ", now.tv_nsec / 1000000);
    return str_n(out, len);
}

void log_setup(const struct log_opts *opts)
{
    settings = *opts;
    if (settings.fd <= 0)
        settings.fd = 2;
}

bool log_enabled(enum log_level level)
{
    return level <= settings.level;
}

bool log_level_parse(struct str word, enum log_level *out)
{
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        if (str_eq(levels[i].word, word)) {
            *out = (enum log_level)i;
            return true;
        }
    }
    return false;
}

void log_write(enum log_level level, const char *event, const struct log_field *fields, size_t count)
{
    struct line line = { .len = 0 };
    bool json = settings.format == LOG_FORMAT_JSON;
    char when[40];
    char number[32];

    if (settings.journald)
        line.len = (size_t)snprintf(line.text, sizeof(line.text), "<%d>", levels[level].journald);
    if (json)
        put_plain(&line, STR("{\"time\":"));
    else
        put_plain(&line, STR("time="));
    struct str now = time_text(when, sizeof(when));
    if (json)
        put_quoted(&line, now);
    else
        put_plain(&line, now);
    put_field(&line, "level", levels[level].word, false);
    put_field(&line, "event", str_of(event), false);
    for (size_t i = 0; i < count; i++) {
        if (fields[i].text.at) {
            put_field(&line, fields[i].name, fields[i].text, false);
        } else {
            snprintf(number, sizeof(number), "%lld", (long long)fields[i].number);
            put_field(&line, fields[i].name, str_of(number), true);
        }
    }
    if (json)
        line.text[line.len++] = '}';
    line.text[line.len++] = '\n';

    for (size_t done = 0; done < line.len;) {
        ssize_t wrote = write(settings.fd, line.text + done, line.len - done);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return; /* nobody can be told that the log is gone */
        done += (size_t)wrote;
    }
}
