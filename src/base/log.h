/*
 * base/log: one line for each event, to stderr.
 *
 *     LOG_WARN("token refused", LOG_STR("name", name), LOG_INT("line", 7));
 *
 * Formats: logfmt (default) and JSON lines. With `journald` set each line begins with the <N>
 * priority that journald reads. A line has at most LOG_LINE_MAX bytes (what a pipe takes in one
 * piece) and is written whole by one write(2), so lines of several threads never mix. Values are
 * escaped: no byte from outside can begin a line of its own or move a terminal's cursor. A longer
 * line is cut, says so (cut=true), and is still well-formed.
 *
 * Everything may be called from any thread. There is one log in a process. errno does not change.
 *
 * Never log the content of questions or answers, nor tokens or keys.
 */
#ifndef NOD_BASE_LOG_H
#define NOD_BASE_LOG_H

#include <nod/nod.h>

#include "base/str.h"

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };
enum log_format { LOG_FORMAT_LOGFMT, LOG_FORMAT_JSON };

enum { LOG_LINE_MAX = 4096 }; /* bytes of a log line; a longer one is cut */

struct log_field {
    const char *name;
    struct str text; /* used when text.at is set */
    int64_t number;
};

struct log_opts {
    enum log_level level;
    enum log_format format;
    bool journald;
    int fd; /* 2 unless a test says otherwise */
};

void log_setup(const struct log_opts *opts);

/*
 * Lines go to this function instead of the descriptor, without their newline, each when it is made;
 * NULL: to the descriptor again. It is called on the thread that logs, one line at a time; what it
 * logs itself is dropped. When log_to returns, the function of before is not called any more.
 */
void log_to(nod_log_fn *tell, void *data);
bool log_is_told(void);

/*
 * While a thread gathers, its lines at info and debug are written together: when there are
 * LOG_LINE_MAX bytes of them, before a warning or an error, and by log_flush, which the loop calls
 * before it waits. They are written too if the process aborts or crashes (log_watch_crashes). One
 * thread of a process gathers; if another one wants to meanwhile, that one's lines are written at
 * once.
 */
void log_gather(bool on);
void log_flush(void);

/*
 * In a process of our own: if it aborts or crashes, lines that were gathered are written, and after
 * them one that says what the thread was doing, if `words` knows: it fills in fields, and gives
 * their number. It is called in the handler of the signal, and may only read what its own thread
 * has written. A handler that the program or a sanitizer has set stays.
 */
enum {
    LOG_LAST_FIELDS = 8,         /* fields of that line, at most */
    LOG_CRASH_STACK = 64 * 1024, /* bytes of stack that the handler of the signal has */
};
typedef size_t log_words_fn(struct log_field *fields);
void log_last_words(log_words_fn *words);
void log_watch_crashes(void);
/* On another thread that runs foreign code, before it does: its own stack may be what has run out,
 * and it may block signals. `stack` has LOG_CRASH_STACK bytes, which outlive that code. */
void log_watch_thread(char *stack);

bool log_enabled(enum log_level level);
void log_write(enum log_level level, const char *event, const struct log_field *fields,
               size_t count);

/* False, and nothing is set: an unknown word. */
bool log_level_parse(struct str word, enum log_level *out);

static inline struct log_field log_str(const char *name, struct str text)
{
    return (struct log_field){ name, text.at ? text : STR(""), 0 };
}

/* A field without a name is left out. */
static inline struct log_field log_str_if(const char *name, struct str text)
{
    return log_str(text.len ? name : NULL, text);
}

#define LOG_STR(name, s)  log_str((name), (s))
#define LOG_IF(name, s)   log_str_if((name), (s)) /* left out if the text is empty */
#define LOG_CSTR(name, s) log_str((name), str_of(s))
#define LOG_INT(name, n)  ((struct log_field){ (name), STR_NONE, (int64_t)(n) })

#define LOG_AT_(level, event, ...)                                                                 \
    do {                                                                                           \
        if (log_enabled(level)) {                                                                  \
            const struct log_field fields_[] = { { 0 }, ##__VA_ARGS__ };                           \
            log_write((level), (event), fields_ + 1, sizeof(fields_) / sizeof(fields_[0]) - 1);    \
        }                                                                                          \
    } while (0)

#define LOG_ERROR(event, ...) LOG_AT_(LOG_LEVEL_ERROR, event, ##__VA_ARGS__)
#define LOG_WARN(event, ...)  LOG_AT_(LOG_LEVEL_WARN, event, ##__VA_ARGS__)
#define LOG_INFO(event, ...)  LOG_AT_(LOG_LEVEL_INFO, event, ##__VA_ARGS__)
#define LOG_DEBUG(event, ...) LOG_AT_(LOG_LEVEL_DEBUG, event, ##__VA_ARGS__)

#endif
