/*
 * base/log: builds a line on the stack and writes it whole; see log.h.
 *
 * Holds always: a line is well-formed, however long its fields are. Text is added in units (a
 * character, an escape) that fit whole or not at all. Room for what closes the line is reserved.
 * Once something did not fit, nothing more is added but the mark that says so. A field without room
 * for its name and the beginning of its value is left out.
 *
 * Text is read as UTF-8, because a JSON line must be valid, and because there are control
 * characters above ASCII too: the C1 set moves a terminal's cursor, line separators begin a line,
 * and directional marks change what a line seems to say. All those are escaped, and what is not
 * UTF-8 becomes U+FFFD.
 */
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

static const struct str cut_json = STR_INIT(",\"cut\":true");
static const struct str cut_logfmt = STR_INIT(" cut=true");

/* A closing quote, the mark of a cut line, a closing brace and the newline. */
enum { TAIL = 1 + sizeof(",\"cut\":true") - 1 + 1 + 1 };

struct line {
    char text[LOG_LINE_MAX];
    size_t len;
    bool cut;
};

/* Adds all of it; or nothing, and the line is cut. */
static void put(struct line *line, struct str s)
{
    if (line->cut || line->len + s.len > LOG_LINE_MAX - TAIL) {
        line->cut = true;
        return;
    }
    memcpy(line->text + line->len, s.at, s.len);
    line->len += s.len;
}

/* Into the reserved room. */
static void put_tail(struct line *line, struct str s)
{
    memcpy(line->text + line->len, s.at, s.len);
    line->len += s.len;
}

/* The first character: its length in bytes, and its code; 1 and U+FFFD for a byte that begins
 * none. */
static size_t utf8_first(struct str s, uint32_t *code)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const unsigned char *at = (const unsigned char *)s.at;
    size_t len = at[0] < 0x80 ? 1 : at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;

    *code = len == 1 ? at[0] : at[0] & (0xffu >> (len + 1));
    for (size_t i = 1; i < len; i++) {
        if (i >= s.len || (at[i] & 0xc0) != 0x80) {
            *code = 0xfffd;
            return 1;
        }
        *code = *code << 6 | (at[i] & 0x3f);
    }
    if ((at[0] >= 0x80 && at[0] < 0xc2) || at[0] > 0xf4 || *code < least[len] || *code > 0x10ffff ||
        (*code >= 0xd800 && *code < 0xe000)) {
        *code = 0xfffd;
        return 1;
    }
    return len;
}

static bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200e && code <= 0x200f) ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

static void put_quoted(struct line *line, struct str s)
{
    put(line, STR("\""));
    if (line->cut)
        return;
    while (s.len > 0 && !line->cut) {
        uint32_t code;
        char escape[8];
        size_t len = utf8_first(s, &code);
        if (code == '"' || code == '\\') {
            put(line, str_n((char[]){ '\\', (char)code }, 2));
        } else if (is_control(code) || (code == 0xfffd && len == 1)) {
            snprintf(escape, sizeof(escape), "\\u%04x", (unsigned)code & 0xffff);
            put(line, str_n(escape, 6));
        } else {
            put(line, str_n(s.at, len));
        }
        s = str_skip(s, len);
    }
    put_tail(line, STR("\""));
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

static void put_plain(struct line *line, struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        put(line, str_n(s.at + i, 1));
}

static void put_value(struct line *line, struct str value, bool number)
{
    if (number)
        put(line, value);
    else if (settings.format == LOG_FORMAT_JSON || needs_quotes(value))
        put_quoted(line, value);
    else
        put_plain(line, value);
}

static void put_field(struct line *line, const char *name, struct str value, bool number)
{
    bool json = settings.format == LOG_FORMAT_JSON;
    size_t begin = line->len;

    if (line->cut)
        return;
    put(line, json ? STR(",") : STR(" "));
    if (json)
        put_quoted(line, str_of(name));
    else
        put(line, str_of(name));
    put(line, json ? STR(":") : STR("="));
    size_t head = line->len;
    if (!line->cut)
        put_value(line, value, number);
    if (line->cut && line->len == head)
        line->len = begin;
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

/* Nobody can be told that the log is gone, so a failure is ignored. */
static void write_all(struct str text)
{
    while (text.len > 0) {
        ssize_t wrote = write(settings.fd, text.at, text.len);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return;
        text = str_skip(text, (size_t)wrote);
    }
}

static void put_head(struct line *line, enum log_level level, const char *event)
{
    char when[40];
    char prefix[8];
    struct str now = time_text(when, sizeof(when));

    snprintf(prefix, sizeof(prefix), "<%d>", levels[level].journald);
    if (settings.journald)
        put(line, str_of(prefix));
    if (settings.format == LOG_FORMAT_JSON) {
        put(line, STR("{\"time\":"));
        put_quoted(line, now);
    } else {
        put(line, STR("time="));
        put(line, now);
    }
    put_field(line, "level", levels[level].word, false);
    put_field(line, "event", str_of(event), false);
}

void log_write(enum log_level level, const char *event, const struct log_field *fields,
               size_t count)
{
    struct line line; /* its text is not cleared, which would cost four kilobytes */
    bool json = settings.format == LOG_FORMAT_JSON;
    char number[32];
    int saved = errno;

    line.len = 0;
    line.cut = false;
    put_head(&line, level, event);
    for (size_t i = 0; i < count; i++) {
        if (fields[i].text.at) {
            put_field(&line, fields[i].name, fields[i].text, false);
        } else {
            snprintf(number, sizeof(number), "%lld", (long long)fields[i].number);
            put_field(&line, fields[i].name, str_of(number), true);
        }
    }
    if (line.cut)
        put_tail(&line, json ? cut_json : cut_logfmt);
    put_tail(&line, json ? STR("}\n") : STR("\n"));
    write_all(str_n(line.text, line.len));
    errno = saved;
}
