/* base/buf: doubling growth up to the limit; see buf.h. */
#include "base/buf.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

enum { BUF_FIRST = 256 };

void buf_init(struct buf *buf, size_t limit)
{
    *buf = (struct buf){ .limit = limit };
}

static void wipe(const struct buf *buf)
{
    if (buf->wiped && buf->at)
        explicit_bzero(buf->at, buf->room);
}

/* The same as mem_realloc, which may leave a copy behind. */
static char *moved(const struct buf *buf, size_t room)
{
    char *at = mem_alloc(room);

    if (buf->len)
        memcpy(at, buf->at, buf->len);
    wipe(buf);
    mem_free_sized(buf->at, buf->room);
    return at;
}

void buf_finish(struct buf *buf)
{
    wipe(buf);
    mem_free_sized(buf->at, buf->room);
    *buf = (struct buf){ .limit = buf->limit, .wiped = buf->wiped };
}

void buf_clear(struct buf *buf)
{
    wipe(buf);
    buf->len = 0;
    buf->overflow = false;
}

char *buf_reserve_slow_(struct buf *buf, size_t more)
{
    if (buf->overflow || more > buf->limit - buf->len) {
        buf->overflow = true;
        return NULL;
    }
    if (!buf->at || more > buf->room - buf->len) {
        size_t room = buf->room ? buf->room : BUF_FIRST / 2;
        room = room <= buf->limit / 2 ? room * 2 : buf->limit;
        if (room < buf->len + more)
            room = buf->len + more;
        buf->at = buf->wiped ? moved(buf, room) : mem_realloc(buf->at, room);
        buf->room = room;
    }
    return buf->at + buf->len;
}

bool buf_fmt(struct buf *buf, const char *format, ...)
{
    char small[256];
    va_list args;

    va_start(args, format);
    int len = vsnprintf(small, sizeof(small), format, args);
    va_end(args);
    if (len < 0 || (size_t)len > buf->limit - buf->len) {
        buf->overflow = true;
        return false;
    }
    if ((size_t)len < sizeof(small))
        return buf_add(buf, str_n(small, (size_t)len));

    char *large = mem_alloc((size_t)len + 1);
    va_start(args, format);
    vsnprintf(large, (size_t)len + 1, format, args);
    va_end(args);
    bool added = buf_add(buf, str_n(large, (size_t)len));
    mem_free(large);
    return added;
}

void buf_add_encoded(struct buf *buf, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '-' || c == '.' || c == '_' || c == '~';
        if (plain)
            buf_add_char(buf, (char)c);
        else
            buf_fmt(buf, "%%%02X", c);
    }
}

void buf_drop(struct buf *buf, size_t n)
{
    if (n >= buf->len) {
        buf->len = 0;
        return;
    }
    memmove(buf->at, buf->at + n, buf->len - n);
    buf->len -= n;
}

struct str buf_take(struct buf *buf)
{
    struct str bytes = buf_str(buf);

    *buf = (struct buf){ .limit = buf->limit, .wiped = buf->wiped };
    return bytes;
}
