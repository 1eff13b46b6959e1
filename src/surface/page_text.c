/*
 * surface/page_text: text from outside, written into a page.
 *
 * A title, a message or a principal may hold anything. Here it becomes text and nothing else: what
 * HTML gives a meaning is escaped, and what cannot be seen or moves others (json/unseen) is drawn
 * as marks with its number. The scripts of the page do the same (web/dom.js); this is for the first
 * moment, and for browsers without scripts.
 */
#include "json/unseen.h"
#include "json/utf8.h"
#include "surface/inbox_inside.h"
#include "surface/page.h"

static uint32_t code_point(const char *at, size_t len)
{
    static const unsigned char lead[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
    uint32_t code = (unsigned char)at[0] & lead[len];

    for (size_t i = 1; i < len; i++)
        code = code << 6 | ((unsigned char)at[i] & 0x3f);
    return code;
}

/* Roughly: arrows, signs and emoji, and what was joined to one. */
static bool is_picture(uint32_t code)
{
    return unseen_joins(code) || (code >= 0x2190 && code <= 0x2bff) || code >= 0x1f000;
}

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

/* Writes what begins at `at`, and returns how long it is. *before: the character before it. */
static size_t write_one(struct buf *page, const char *at, const char *end, bool marks,
                        uint32_t *before)
{
    size_t len = (unsigned char)*at < 0x80 ? 1 : utf8_sequence(at, end);
    uint32_t code = len ? code_point(at, len) : 0xfffd;
    struct str escape = escaped(*at);
    bool hidden = unseen(code) && !(unseen_joins(code) && is_picture(*before));

    *before = code;
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
    uint32_t before = 0;

    while (at < end && (size_t)(at - text.at) < limit)
        at += write_one(page, at, end, true, &before);
    if (at < end)
        buf_add(page, STR("\xe2\x80\xa6"));
}

void page_attribute(struct buf *page, struct str text)
{
    const char *at = text.at, *end = text.at + text.len;
    uint32_t before = 0;

    while (at < end)
        at += write_one(page, at, end, false, &before);
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
