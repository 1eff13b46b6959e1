/*
 * surface/page_text: text from outside, written into a page.
 *
 * A title or the name of a principal may hold anything. Here it becomes text and nothing else: what
 * HTML gives a meaning is escaped, and what cannot be seen or moves others, and accents beyond a
 * few on one character (json/unseen), are drawn as marks with their numbers. The scripts of the
 * page do the same (web/dom.js); this is for what the server itself draws.
 */
#include "json/unseen.h"
#include "json/utf8.h"
#include "surface/page.h"

static struct str escaped(char c)
{
    switch (c) {
    case '&':
        return STR("&amp;");
    case '<':
        return STR("&lt;");
    case '>':
        return STR("&gt;");
    case '"':
        return STR("&quot;");
    case '\'':
        return STR("&#39;");
    default:
        return STR_NONE;
    }
}

/* Writes what begins at `at`, and returns how long it is. */
static size_t write_one(struct buf *page, const char *at, const char *end,
                        struct unseen_place *place)
{
    size_t len = (unsigned char)*at < 0x80 ? 1 : utf8_sequence(at, end);
    uint32_t code = len ? utf8_code(at, len) : 0xfffd;
    struct str escape = escaped(*at);
    bool hidden = unseen_here(place, code);

    if (escape.len)
        buf_add(page, escape);
    else if (code == '\n')
        buf_add(page, STR(" \xe2\x86\xb5 "));
    else if (hidden)
        buf_fmt(page, "<span class=\"mark\">U+%04X</span>", (unsigned)code);
    else if (!len)
        buf_add(page, STR("\xef\xbf\xbd"));
    else
        buf_add(page, str_n(at, len));
    return len ? len : 1;
}

void page_text(struct buf *page, struct str text, size_t limit)
{
    const char *at = text.at, *end = text.at + text.len;
    struct unseen_place place = { 0 };

    while (at < end && (size_t)(at - text.at) < limit)
        at += write_one(page, at, end, &place);
    if (at < end)
        buf_add(page, STR("\xe2\x80\xa6"));
}
