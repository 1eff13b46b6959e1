/*
 * base/buf: a growing run of bytes with a limit.
 *
 * The limit is a constructor argument. What would exceed it is not added at all: the call returns
 * false and `overflow` stays set, so that a writer may check once at the end.
 *
 * Holds always: len <= room <= limit. What is added must not be in the buffer itself.
 */
#ifndef NOD_BASE_BUF_H
#define NOD_BASE_BUF_H

#include <stdarg.h>

#include "base/str.h"

struct buf {
    char *at;
    size_t len;
    size_t room;
    size_t limit;
    bool overflow;
    bool wiped; /* see buf_wiped */
};

void buf_init(struct buf *buf, size_t limit);
void buf_finish(struct buf *buf);

/* From now on its bytes are wiped wherever it leaves them: when it grows, is cleared or finished.
 * buf_take hands them over as they are. */
static inline void buf_wiped(struct buf *buf, bool wiped)
{
    buf->wiped = wiped;
}

/* Forgets the bytes and the overflow; keeps the memory. */
void buf_clear(struct buf *buf);

/*
 * Room for `more` bytes at at+len; the caller writes there and raises len. NULL only past the
 * limit: asking for 0 bytes returns a pointer too.
 */
char *buf_reserve_slow_(struct buf *buf, size_t more) __attribute__((noinline));

static inline char *buf_reserve(struct buf *buf, size_t more)
{
    /* Less than all of the room: then there is some, so there is memory too. */
    if (more < buf->room - buf->len && !buf->overflow)
        return buf->at + buf->len;
    return buf_reserve_slow_(buf, more);
}

static inline bool buf_add(struct buf *buf, struct str s)
{
    char *to = buf_reserve(buf, s.len);

    if (!to)
        return false;
    if (s.len)
        memcpy(to, s.at, s.len);
    buf->len += s.len;
    return true;
}

static inline bool buf_add_char(struct buf *buf, char c)
{
    char *to = buf_reserve(buf, 1);

    if (!to)
        return false;
    *to = c;
    buf->len++;
    return true;
}

/* Text that cannot be formatted counts as overflow. */
bool buf_fmt(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As a value in a URL or in a form: everything but letters, digits, - . _ and ~ as %XX. */
void buf_add_encoded(struct buf *buf, struct str text);

/* Drops the first n bytes. */
void buf_drop(struct buf *buf, size_t n);

/* Hands the memory over to the caller (free with mem_free) and leaves the buffer empty. {NULL, 0}
 * if it never held anything. */
struct str buf_take(struct buf *buf);

static inline struct str buf_str(const struct buf *buf)
{
    return str_n(buf->at, buf->len);
}

#endif
