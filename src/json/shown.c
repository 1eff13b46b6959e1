/*
 * json/shown: see shown.h.
 *
 * What fits is drawn as it is. What does not shares its room out: members that need less than an
 * equal part have what they need, and what is left is for the others, in equal parts.
 *
 * Holds always: the bytes that are returned are those that the counts in the text add up to.
 */
#include "json/shown.h"

#include <stdio.h>

#include "json/unseen.h"
#include "json/utf8.h"

enum {
    SLACK = 24,     /* bytes; a cut that saves no more is not worth its count */
    PIECE_MAX = 48, /* bytes of a mark */
    MEMBER_LEAST = SHOWN_NAME_MAX + SHOWN_LEAST,
};

#define DOTS STR("\xE2\x80\xA6")

struct drawing {
    struct buf *out;
    bool lines;
    bool whole; /* what is drawn now fits: nothing of it is cut */
    size_t left_out;
};

const char *shown_count(char out[SHOWN_COUNT_MAX], size_t n)
{
    char *at = out + SHOWN_COUNT_MAX - 1;
    int digits = 0;

    *at = '\0';
    do {
        if (digits++ && digits % 3 == 1)
            *--at = ',';
        *--at = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    return at;
}

/* --- texts --- */

/* What one character looks like that does not mean itself. */
static size_t mark(char piece[PIECE_MAX], uint32_t code, size_t times)
{
    char count[SHOWN_COUNT_MAX], number[16];
    const char *name = unseen_name(code);

    if (!name) {
        snprintf(number, sizeof(number), "U+%04X", (unsigned)code);
        name = number;
    }
    int len = times > 1
                  ? snprintf(piece, PIECE_MAX, "<%s\xC3\x97%s>", name, shown_count(count, times))
                  : snprintf(piece, PIECE_MAX, "<%s>", name);
    return (size_t)len;
}

static const char *escape_of(char c)
{
    return c == '"'    ? "\\\""
           : c == '\\' ? "\\\\"
           : c == '\n' ? "\\n"
           : c == '\r' ? "\\r"
           : c == '\t' ? "\\t"
                       : NULL;
}

/* Draws one character, or a run of one that is a mark; without `out` it is only measured. Returns
 * how long that is in the text; 0: it does not fit any more. *room: what is left. */
static size_t show_next(struct buf *out, const char *at, const char *end,
                        struct unseen_place *place, size_t *room)
{
    size_t len = (unsigned char)*at < 0x80 ? 1 : utf8_sequence(at, end), taken = len, times = 1;
    uint32_t code = len ? utf8_code(at, len) : 0xfffd;
    const char *escape = escape_of(*at);
    char piece[PIECE_MAX];
    struct str drawn = str_n(at, len);

    bool hidden = unseen_here(place, code);
    if (escape)
        drawn = str_of(escape);
    else if (hidden || !len) {
        for (; len && (size_t)(end - at) >= taken + len && memcmp(at, at + taken, len) == 0;
             times++)
            taken += len;
        drawn = str_n(piece, mark(piece, code, times));
    }
    if (drawn.len > *room)
        return 0;
    *room -= drawn.len;
    if (out)
        buf_add(out, drawn);
    return taken ? taken : 1;
}

/* How much of the text fits into so many bytes. */
static size_t show_most(struct buf *out, struct str text, size_t *room)
{
    const char *at = text.at, *end = text.at + text.len;
    struct unseen_place place = { 0 };
    size_t taken = 1;

    for (; at < end && taken; at += taken)
        taken = show_next(out, at, end, &place, room);
    return (size_t)(at - text.at);
}

static void show_text(struct drawing *d, struct str text, size_t most, bool quoted)
{
    size_t room = d->whole ? SIZE_MAX : text.len > most + SLACK ? most : most + SLACK;
    char count[SHOWN_COUNT_MAX];

    if (quoted)
        buf_add_char(d->out, '"');
    size_t left = text.len - show_most(d->out, text, &room);
    if (left)
        buf_add(d->out, DOTS);
    if (quoted)
        buf_add_char(d->out, '"');
    if (left)
        buf_fmt(d->out, " (%s more byte%s)", shown_count(count, left), left == 1 ? "" : "s");
    d->left_out += left;
}

/* --- sizes --- */

/* As it is drawn in full, quotes included; past `cap` nobody looks further. */
static size_t text_size(struct str text, size_t cap)
{
    size_t room = cap;

    return show_most(NULL, text, &room) < text.len ? cap + 1 : cap - room + 2;
}

static size_t size_of(const struct drawing *d, const struct json *v, int depth, size_t cap);

static size_t member_size(const struct drawing *d, const struct json *member, bool object,
                          int depth, size_t cap)
{
    size_t size =
        1 + (d->lines ? 1 + 2 * (size_t)depth : 0) + (object ? text_size(member->key, cap) + 2 : 0);

    return size > cap ? size : size + size_of(d, member, depth, cap);
}

static size_t size_of(const struct drawing *d, const struct json *v, int depth, size_t cap)
{
    size_t size = d->lines ? 3 + 2 * (size_t)depth : 2;

    if (v->type < JSON_ARRAY)
        return v->type == JSON_NULL || v->type == JSON_BOOL ? 5 : text_size(v->text, cap);
    if (depth >= JSON_DEPTH_MAX)
        return cap + 1;
    JSON_EACH (child, v) {
        size += member_size(d, child, v->type == JSON_OBJECT, depth + 1, cap);
        if (size > cap)
            break;
    }
    return size;
}

/* As JSON without blanks, nearly: what somebody misses who does not see it. */
static size_t missing(const struct json *v, int depth)
{
    size_t size = 2;

    if (v->type < JSON_ARRAY)
        return v->type == JSON_NULL || v->type == JSON_BOOL ? 4 : v->text.len;
    JSON_EACH (child, v)
        size += child->key.len + (depth < JSON_DEPTH_MAX ? missing(child, depth + 1) : 0) + 1;
    return size;
}

/* --- objects and arrays --- */

/* How much each has at most, so that all of them fit. */
static size_t equal_part(const size_t *needs, size_t count, size_t room)
{
    size_t part = room / count, before;

    do {
        size_t rest = room, large = 0;
        for (size_t i = 0; i < count; i++)
            if (needs[i] > part)
                large++;
            else
                rest = rest > needs[i] ? rest - needs[i] : 0;
        before = part;
        part = large ? rest / large : part;
    } while (part > before);
    return before;
}

static void new_line(struct drawing *d, int depth)
{
    if (d->lines)
        buf_fmt(d->out, "\n%*s", 2 * depth, "");
}

static void show_rest(struct drawing *d, const struct json *from, bool object, bool more)
{
    char members[SHOWN_COUNT_MAX], bytes[SHOWN_COUNT_MAX];
    size_t size = 0, count = 0;

    for (const struct json *child = from; child; child = child->next, count++)
        size += child->key.len + missing(child, 0);
    buf_add(d->out, DOTS);
    buf_fmt(d->out, " (%s%s %s%s, %s bytes)", shown_count(members, count), more ? " more" : "",
            object ? "member" : "item", count == 1 ? "" : "s", shown_count(bytes, size));
    d->left_out += size;
}

static void show_value(struct drawing *d, const struct json *v, size_t room, int depth);

static void show_children(struct drawing *d, const struct json *v, size_t room, int depth)
{
    bool object = v->type == JSON_OBJECT;
    size_t needs[SHOWN_MEMBERS_MAX], count = 0, at = 0, part = room;
    size_t most =
        depth && room / MEMBER_LEAST < SHOWN_MEMBERS_MAX ? room / MEMBER_LEAST : SHOWN_MEMBERS_MAX;

    JSON_EACH (child, v) {
        if (d->whole || count == most)
            break;
        needs[count++] = member_size(d, child, object, depth + 1, room);
    }
    if (count)
        part = equal_part(needs, count, room);
    JSON_EACH (child, v) {
        if (child != json_first(v))
            buf_add_char(d->out, ',');
        new_line(d, depth + 1);
        if (!d->whole && at == count) {
            show_rest(d, child, object, true);
            break;
        }
        bool whole = d->whole;
        d->whole = whole || needs[at] <= part;
        size_t from = d->out->len;
        if (object) {
            show_text(d, child->key, SHOWN_NAME_MAX, true);
            buf_add(d->out, d->lines ? STR(": ") : STR(":"));
        }
        size_t name = d->out->len - from;
        show_value(d, child, part > name + SHOWN_LEAST ? part - name : SHOWN_LEAST, depth + 1);
        d->whole = whole;
        at++;
    }
}

static void show_value(struct drawing *d, const struct json *v, size_t room, int depth)
{
    bool object = v->type == JSON_OBJECT;

    if (v->type == JSON_STRING || v->type == JSON_NUMBER) {
        show_text(d, v->text, room, v->type == JSON_STRING);
        return;
    }
    if (v->type < JSON_ARRAY) {
        buf_add(d->out, v->type == JSON_NULL ? STR("null") : v->truth ? STR("true") : STR("false"));
        return;
    }
    buf_add_char(d->out, object ? '{' : '[');
    if (json_first(v) && !d->whole && depth && (depth >= SHOWN_DEPTH_MAX || room < MEMBER_LEAST))
        show_rest(d, json_first(v), object, false);
    else if (json_first(v)) {
        show_children(d, v, room, depth);
        new_line(d, depth);
    }
    buf_add_char(d->out, object ? '}' : ']');
}

size_t json_show(struct buf *out, const struct json *v, bool lines)
{
    struct drawing d = { .out = out, .lines = lines };

    d.whole = size_of(&d, v, 0, SHOWN_MAX) <= SHOWN_MAX;
    show_value(&d, v, SHOWN_MAX, 0);
    return d.left_out;
}
