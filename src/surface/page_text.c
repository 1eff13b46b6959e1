/*
 * surface/page_text: text from outside, written into a page.
 *
 * A title, a message or a principal may hold anything. Here it becomes text and nothing else: what
 * HTML gives a meaning is escaped, and what cannot be seen or moves others, and accents beyond a
 * few on one character (json/unseen), are drawn as marks with their numbers. The scripts of the
 * page do the same (web/dom.js); this is for the first moment, and for browsers without scripts.
 */
#include "json/unseen.h"
#include "json/utf8.h"
#include "surface/inbox_inside.h"
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
static size_t write_one(struct buf *page, const char *at, const char *end, bool marks,
                        struct unseen_place *place)
{
    size_t len = (unsigned char)*at < 0x80 ? 1 : utf8_sequence(at, end);
    uint32_t code = len ? utf8_code(at, len) : 0xfffd;
    struct str escape = escaped(*at);
    bool hidden = unseen_here(place, code);

    if (escape.len)
        buf_add(page, escape);
    else if (marks && code == '\n')
        buf_add(page, STR(" \xe2\x86\xb5 "));
    else if (hidden && marks)
        buf_fmt(page, "<span class=\"mark\">U+%04X</span>", (unsigned)code);
    else if (hidden || !len)
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
        at += write_one(page, at, end, true, &place);
    if (at < end)
        buf_add(page, STR("\xe2\x80\xa6"));
}

void page_attribute(struct buf *page, struct str text)
{
    const char *at = text.at, *end = text.at + text.len;
    struct unseen_place place = { 0 };

    while (at < end)
        at += write_one(page, at, end, false, &place);
}

void page_row(struct buf *page, const struct inbox *inbox, const struct ask_record *ask,
              struct str base)
{
    const struct target *tool = catalog_find(inbox->opts.catalog, TARGET_TOOL, ask->target);
    char until[API_TIME_MAX];

    buf_fmt(page, "<li><a href=\"" STR_FMT "/ask/", STR_ARG(base));
    page_attribute(page, ask->id);
    buf_add(page, STR("\"><b>"));
    page_text(page, tool && tool->title.len ? tool->title : ask->target, PAGE_TITLE_MAX);
    buf_add(page, STR("</b><span class=\"meta\"><bdi>"));
    page_text(page, ask->principal, PAGE_TITLE_MAX);
    struct str time = api_time(until, ask->expires_ms);
    buf_fmt(page, "</bdi> \xc2\xb7 until <time datetime=\"" STR_FMT "\">%.5s UTC</time></span>",
            STR_ARG(time), until + 11);
    buf_add(page, STR("<span class=\"gist\">"));
    page_text(page, ask->message, PAGE_GIST_MAX);
    buf_add(page, STR("</span></a></li>\n"));
}
