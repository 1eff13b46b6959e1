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
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

/* Of the process; each may change while other threads log. */
static struct {
    _Atomic enum log_level level;
    _Atomic enum log_format format;
    atomic_bool journald;
    atomic_int fd;
} settings = { .level = LOG_LEVEL_INFO, .fd = 2 };

/* Where lines go instead of the descriptor. The lock is held while it is called, so that it is over
 * when somebody has changed it. */
static pthread_mutex_t teller_lock = PTHREAD_MUTEX_INITIALIZER;
static nod_log_fn *teller; /* both under the lock */
static void *teller_data;
static atomic_bool has_teller;
static _Thread_local bool telling;

static const struct {
    struct str word;
    struct str journald;
    nod_log_level told;
} levels[] = {
    [LOG_LEVEL_ERROR] = { STR_INIT("error"), STR_INIT("<3>"), NOD_LOG_ERROR },
    [LOG_LEVEL_WARN] = { STR_INIT("warn"), STR_INIT("<4>"), NOD_LOG_WARNING },
    [LOG_LEVEL_INFO] = { STR_INIT("info"), STR_INIT("<6>"), NOD_LOG_INFO },
    [LOG_LEVEL_DEBUG] = { STR_INIT("debug"), STR_INIT("<7>"), NOD_LOG_DEBUG },
};

static _Thread_local bool gathers;
static atomic_flag gathering = ATOMIC_FLAG_INIT; /* a thread does */
static struct {
    char text[LOG_LINE_MAX];
    volatile size_t len; /* read by the handler of a signal */
} gathered;

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

/* Adds as many of these ASCII characters as fit. */
static void put_ascii(struct line *line, struct str s)
{
    size_t room = LOG_LINE_MAX - TAIL - line->len;

    if (s.len <= room) {
        put(line, s);
    } else {
        put(line, str_n(s.at, room));
        line->cut = true;
    }
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

static const bool needs_quotes[256] = {
    [0 ... ' '] = true, ['"'] = true, ['='] = true, ['\\'] = true, [0x7f ... 0xff] = true,
};

/* How many characters at the beginning need neither quotes nor an escape. */
static size_t plain_first(struct str s)
{
    size_t len = 0;

    while (len < s.len && !needs_quotes[(unsigned char)s.at[len]])
        len++;
    return len;
}

static void put_quoted(struct line *line, struct str s)
{
    put(line, STR("\""));
    if (line->cut)
        return;
    while (s.len > 0 && !line->cut) {
        uint32_t code;
        char escape[8];
        size_t len = plain_first(s);
        if (len > 0) {
            put_ascii(line, str_n(s.at, len));
            s = str_skip(s, len);
            continue;
        }
        len = utf8_first(s, &code);
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

static void put_value(struct line *line, struct str value, bool number)
{
    if (number)
        put(line, value);
    else if (settings.format == LOG_FORMAT_JSON || !value.len || plain_first(value) < value.len)
        put_quoted(line, value);
    else
        put_ascii(line, value);
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

/* The date is counted once a second. Lent until the thread asks again. */
static struct str time_text(void)
{
    static _Thread_local char text[] = "1970-01-01T00:00:00.000Z";
    static _Thread_local int64_t second;
    enum { MS = CLOCK_DATE_LEN + 1 };
    int64_t now = clock_wall(clock_held());

    if (now / 1000 != second) {
        second = now / 1000;
        clock_date(second, text);
    }
    for (int i = MS + 2, ms = (int)(now % 1000); i >= MS; i--, ms /= 10)
        text[i] = (char)('0' + ms % 10);
    return str_n(text, sizeof(text) - 1);
}

void log_setup(const struct log_opts *opts)
{
    settings.level = opts->level;
    settings.format = opts->format;
    settings.journald = opts->journald;
    settings.fd = opts->fd > 0 ? opts->fd : 2;
}

void log_to(nod_log_fn *tell, void *data)
{
    if (telling)
        return;
    log_flush();
    pthread_mutex_lock(&teller_lock);
    teller = tell;
    teller_data = data;
    has_teller = tell != NULL;
    pthread_mutex_unlock(&teller_lock);
}

bool log_is_told(void)
{
    return has_teller;
}

bool log_enabled(enum log_level level)
{
    return level <= atomic_load_explicit(&settings.level, memory_order_relaxed);
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

void log_flush(void)
{
    size_t len = gathered.len;

    if (!gathers || len == 0)
        return;
    gathered.len = 0;
    write_all(str_n(gathered.text, len));
}

void log_gather(bool on)
{
    log_flush();
    if (on == gathers || (on && atomic_flag_test_and_set(&gathering)))
        return;
    gathers = on;
    if (!on)
        atomic_flag_clear(&gathering);
}

/* False: nobody wants to be told. A line that the callback itself leads to is dropped. */
static bool tell_line(enum log_level level, struct line *line)
{
    if (!has_teller)
        return telling;
    if (telling)
        return true;
    pthread_mutex_lock(&teller_lock);
    bool told = teller;
    if (told) {
        line->text[line->len - 1] = '\0'; /* instead of the newline */
        telling = true;
        teller(levels[level].told, line->text, teller_data);
        telling = false;
    }
    pthread_mutex_unlock(&teller_lock);
    return told;
}

static void write_line(enum log_level level, struct str line)
{
    bool waits = gathers && level >= LOG_LEVEL_INFO;

    if (!waits || gathered.len + line.len > LOG_LINE_MAX)
        log_flush();
    if (!waits) {
        write_all(line);
        return;
    }
    memcpy(gathered.text + gathered.len, line.at, line.len);
    gathered.len += line.len;
}

/* The line whole, with its newline. */
static void build_line(struct line *line, enum log_level level, const char *event,
                       const struct log_field *fields, size_t count)
{
    bool json = settings.format == LOG_FORMAT_JSON;
    char number[32];

    line->len = 0;
    line->cut = false;
    struct str now = time_text();
    if (settings.journald)
        put(line, levels[level].journald);
    if (json) {
        put(line, STR("{\"time\":"));
        put_quoted(line, now);
    } else {
        put(line, STR("time="));
        put(line, now);
    }
    put_field(line, "level", levels[level].word, false);
    put_field(line, "event", str_of(event), false);
    for (size_t i = 0; i < count; i++) {
        if (!fields[i].name)
            continue;
        if (fields[i].text.at) {
            put_field(line, fields[i].name, fields[i].text, false);
        } else {
            snprintf(number, sizeof(number), "%lld", (long long)fields[i].number);
            put_field(line, fields[i].name, str_of(number), true);
        }
    }
    if (line->cut)
        put_tail(line, json ? cut_json : cut_logfmt);
    put_tail(line, json ? STR("}\n") : STR("\n"));
}

void log_write(enum log_level level, const char *event, const struct log_field *fields,
               size_t count)
{
    struct line line; /* its text is not cleared, which would cost four kilobytes */
    int saved = errno;

    build_line(&line, level, event, fields, count);
    if (!tell_line(level, &line))
        write_line(level, str_n(line.text, line.len));
    errno = saved;
}

/* --- the last line --- */

static log_words_fn *_Atomic last_words;

static const struct {
    int number;
    const char *name;
} crashes[] = { { SIGABRT, "SIGABRT" },
                { SIGBUS, "SIGBUS" },
                { SIGFPE, "SIGFPE" },
                { SIGILL, "SIGILL" },
                { SIGSEGV, "SIGSEGV" } };

/* Called in any thread. The signal is at its default again, and blocked until this returns: then it
 * ends the process, also if it was sent by another program and no instruction repeats it. */
static void on_crash(int number)
{
    struct log_field fields[LOG_LAST_FIELDS + 1];
    log_words_fn *words = last_words;
    struct line line;

    write_all(str_n(gathered.text, gathered.len));
    size_t count = words ? words(fields + 1) : 0;
    for (size_t i = 0; count && i < sizeof(crashes) / sizeof(crashes[0]); i++)
        if (crashes[i].number == number)
            fields[0] = LOG_CSTR("signal", crashes[i].name);
    if (count) {
        build_line(&line, LOG_LEVEL_ERROR, "the process dies in code that is not nod's", fields,
                   count + 1);
        write_all(str_n(line.text, line.len));
    }
    raise(number);
}

void log_last_words(log_words_fn *words)
{
    last_words = words;
}

/* A sanitizer has given its threads a stack for signals, and takes that back itself. */
void log_watch_thread(char *stack)
{
    stack_t before;
    sigset_t ours;

    sigemptyset(&ours);
    for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
        sigaddset(&ours, crashes[i].number);
    pthread_sigmask(SIG_UNBLOCK, &ours, NULL);
    if (sigaltstack(NULL, &before) == 0 && (before.ss_flags & SS_DISABLE))
        sigaltstack(&(stack_t){ .ss_sp = stack, .ss_size = LOG_CRASH_STACK }, NULL);
}

void log_watch_crashes(void)
{
    static char stack[LOG_CRASH_STACK];
    struct sigaction ours = { .sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND | SA_ONSTACK },
                     theirs;

    log_watch_thread(stack);
    for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
        if (sigaction(crashes[i].number, NULL, &theirs) == 0 && !(theirs.sa_flags & SA_SIGINFO) &&
            theirs.sa_handler == SIG_DFL)
            sigaction(crashes[i].number, &ours, NULL);
}
