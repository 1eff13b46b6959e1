/*
 * json/write: the writer, and trees.
 *
 * Every function that writes asks is_ready first, which knows the one thing that may come next:
 * that is the whole grammar. A writer that failed leaves the buffer as it is; json_writer_done says
 * whether the bytes can be used.
 *
 * A parsed value is written as its raw bytes, unless they span several lines. Then it is walked, so
 * that the output never contains a line end (stdio and SSE frames depend on that). Raw bytes given
 * to jw_raw are not checked.
 */
#include "json/write.h"

#include <stdio.h>

#include "base/clock.h"
#include "json/number.h"
#include "json/utf8.h"

enum { TIME_TEXT_MAX = 64 }; /* bytes of a time as text */

_Static_assert((int)JSON_WRITE_DEPTH >= (int)JSON_DEPTH_MAX, "what was parsed can be written");
_Static_assert(JSON_WRITE_DEPTH <= UINT8_MAX, "depth is counted in 8 bits");

void json_writer_init(struct json_writer *w, struct buf *out)
{
    *w = (struct json_writer){ .out = out, .place = JSON_PLACE_VALUE, .after = JSON_PLACE_NONE };
}

bool json_writer_done(const struct json_writer *w)
{
    return w->place == JSON_PLACE_NONE && !w->out->overflow;
}

static void __attribute__((cold, noinline)) fail(struct json_writer *w)
{
    w->failed = true;
    w->place = JSON_PLACE_FAILED;
}

/*
 * May this come next, and is there room for its bytes (at least one) and a comma? If not,
 * make_ready makes room or fails, so that the usual case calls nothing.
 */
static inline bool is_ready(const struct json_writer *w, enum json_place place, size_t len)
{
    return w->place == place && len + w->need_comma <= w->out->room - w->out->len &&
           !w->out->overflow;
}

static bool __attribute__((noinline))
make_ready(struct json_writer *w, enum json_place place, size_t len)
{
    if (w->place == place && buf_reserve(w->out, len + w->need_comma))
        return true;
    fail(w);
    return false;
}

/* Where to write, after the comma. value_end or key_end is then told where it ends. */
static inline char *begin(const struct json_writer *w)
{
    char *to = w->out->at + w->out->len;

    if (w->need_comma)
        *to++ = ',';
    return to;
}

static inline void value_end(struct json_writer *w, const char *end)
{
    w->out->len = (size_t)(end - w->out->at);
    w->place = w->after;
    w->need_comma = true;
}

/* The bytes end with the closing quote. */
static inline void key_end(struct json_writer *w, char *end)
{
    *end++ = ':';
    w->out->len = (size_t)(end - w->out->at);
    w->place = JSON_PLACE_VALUE;
    w->need_comma = false;
}

/*
 * Most keys and scalars are short: two copies that overlap take less time than a call of memcpy.
 * Returns the end of what was copied.
 */
static inline char *bytes_put(char *to, const char *from, size_t len)
{
    if (len > 32) {
        memcpy(to, from, len);
    } else if (len >= 16) {
        memcpy(to, from, 16);
        memcpy(to + len - 16, from + len - 16, 16);
    } else if (len >= 8) {
        memcpy(to, from, 8);
        memcpy(to + len - 8, from + len - 8, 8);
    } else if (len >= 4) {
        memcpy(to, from, 4);
        memcpy(to + len - 4, from + len - 4, 4);
    } else {
        for (size_t i = 0; i < len; i++)
            to[i] = from[i];
    }
    return to + len;
}

static void value_put(struct json_writer *w, struct str bytes);

static void __attribute__((noinline)) value_put_slowly(struct json_writer *w, struct str bytes)
{
    if (make_ready(w, JSON_PLACE_VALUE, bytes.len))
        value_put(w, bytes);
}

/* Bytes that are one value. They are copied last, because then nothing has to be kept for later. */
static inline void value_put(struct json_writer *w, struct str bytes)
{
    if (!is_ready(w, JSON_PLACE_VALUE, bytes.len)) {
        value_put_slowly(w, bytes);
        return;
    }
    char *to = begin(w);
    value_end(w, to + bytes.len);
    bytes_put(to, bytes.at, bytes.len);
}

/* --- strings --- */

/* The letter of the short escape, 'u' for the long one, 0 for none. */
static const char escape_of[128] = {
    'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'b',         't',           'n', 'u',
    'f', 'r', 'u', 'u', 'u', 'u', 'u', 'u', 'u',         'u',           'u', 'u',
    'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', ['"'] = '"', ['\\'] = '\\',
};

/* How many bytes escaping adds. False: the text is not UTF-8, or too long to be counted. */
static bool escapes_count(struct str s, size_t *more)
{
    const char *end = s.at + s.len;
    size_t count = 0;

    for (const char *at = s.at; (at = utf8_plain(at, end)) < end;) {
        unsigned char c = (unsigned char)*at;
        size_t len = c < 0x80 ? 1 : utf8_sequence(at, end);
        if (!len)
            return false;
        if (c < 0x80)
            count += escape_of[c] == 'u' ? 5 : 1;
        at += len;
    }
    *more = count;
    return s.len <= SIZE_MAX / 16;
}

static char *escape_put(char *to, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";

    *to++ = '\\';
    *to++ = escape_of[c];
    if (escape_of[c] == 'u') {
        *to++ = '0';
        *to++ = '0';
        *to++ = hex[c >> 4];
        *to++ = hex[c & 15];
    }
    return to;
}

/* Run by run; UTF-8 has been checked, so bytes from 0x80 are copied as they are. */
static char *escaped_put(char *to, struct str s)
{
    const char *end = s.at + s.len;

    for (const char *at = s.at; at < end;) {
        const char *run = utf8_plain(at, end);
        to = bytes_put(to, at, (size_t)(run - at));
        for (at = run; at < end && !utf8_is_plain((unsigned char)*at); at++) {
            unsigned char c = (unsigned char)*at;
            if (c < 0x80)
                to = escape_put(to, c);
            else
                *to++ = (char)c;
        }
    }
    return to;
}

/* The text between quotes. `plain`: it is known that nothing in it needs an escape. */
static inline char *quoted_put(char *to, struct str s, bool plain)
{
    *to++ = '"';
    if (plain)
        to = bytes_put(to, s.at, s.len);
    else if (s.len)
        to = escaped_put(to, s);
    *to++ = '"';
    return to;
}

/* Short enough that no sum of sizes overflows. */
static inline bool is_countable(struct str s)
{
    return s.len <= SIZE_MAX / 16;
}

/* The text between quotes in one pass, if it is plain. NULL: it may need escapes. */
static inline char *plain_put(char *to, struct str s)
{
    if (s.len && !utf8_copy_plain(to + 1, s.at, s.len))
        return NULL;
    *to = to[s.len + 1] = '"';
    return to + s.len + 2;
}

/* A text that may need escapes, or was not ready: one pass to count and one to write. */
static void __attribute__((noinline)) str_slowly(struct json_writer *w, struct str s)
{
    size_t more = 0;

    if (s.len && !escapes_count(s, &more))
        fail(w);
    else if (make_ready(w, JSON_PLACE_VALUE, s.len + more + 2))
        value_end(w, quoted_put(begin(w), s, more == 0));
}

static void __attribute__((noinline)) key_slowly(struct json_writer *w, struct str key)
{
    size_t more = 0;

    if (key.len && !escapes_count(key, &more))
        fail(w);
    else if (make_ready(w, JSON_PLACE_KEY, key.len + more + 3))
        key_end(w, quoted_put(begin(w), key, more == 0));
}

void jw_any_str_(struct json_writer *w, struct str s)
{
    bool ready = is_countable(s) && is_ready(w, JSON_PLACE_VALUE, s.len + 2);
    char *end = ready ? plain_put(begin(w), s) : NULL;

    if (end)
        value_end(w, end);
    else
        str_slowly(w, s);
}

void jw_any_key_(struct json_writer *w, struct str key)
{
    bool ready = is_countable(key) && is_ready(w, JSON_PLACE_KEY, key.len + 3);
    char *end = ready ? plain_put(begin(w), key) : NULL;

    if (end)
        key_end(w, end);
    else
        key_slowly(w, key);
}

void jw_plain_str(struct json_writer *w, struct str s)
{
    if (!is_ready(w, JSON_PLACE_VALUE, s.len + 2)) {
        str_slowly(w, s);
        return;
    }
    char *to = begin(w);
    *to = to[s.len + 1] = '"';
    value_end(w, to + s.len + 2);
    bytes_put(to + 1, s.at, s.len);
}

void jw_plain_key(struct json_writer *w, struct str key)
{
    if (!is_ready(w, JSON_PLACE_KEY, key.len + 3)) {
        key_slowly(w, key);
        return;
    }
    char *to = begin(w);
    *to = to[key.len + 1] = '"';
    key_end(w, to + key.len + 2);
    bytes_put(to + 1, key.at, key.len);
}

/* --- containers and other scalars --- */

static inline uint8_t place_in(bool object)
{
    return object ? JSON_PLACE_KEY : JSON_PLACE_VALUE;
}

static void container_begin(struct json_writer *w, bool object);

static void __attribute__((noinline)) container_begin_slowly(struct json_writer *w, bool object)
{
    if (w->depth == JSON_WRITE_DEPTH)
        fail(w);
    else if (make_ready(w, JSON_PLACE_VALUE, 1))
        container_begin(w, object);
}

static inline void container_begin(struct json_writer *w, bool object)
{
    if (w->depth == JSON_WRITE_DEPTH || !is_ready(w, JSON_PLACE_VALUE, 1)) {
        container_begin_slowly(w, object);
        return;
    }
    char *to = begin(w);
    *to = object ? '{' : '[';
    w->out->len = (size_t)(to + 1 - w->out->at);

    uint64_t bit = UINT64_C(1) << (w->depth % 64);
    if (object)
        w->object_bits[w->depth / 64] |= bit;
    else
        w->object_bits[w->depth / 64] &= ~bit;
    w->depth++;
    w->place = w->after = place_in(object);
    w->need_comma = false;
}

void jw_object(struct json_writer *w)
{
    container_begin(w, true);
}

void jw_array(struct json_writer *w)
{
    container_begin(w, false);
}

/* What follows a value in the current innermost container. */
static inline uint8_t after_of(const struct json_writer *w)
{
    unsigned level = w->depth - 1u;

    return w->depth ? place_in(w->object_bits[level / 64] >> (level % 64) & 1) : JSON_PLACE_NONE;
}

void jw_end(struct json_writer *w)
{
    if (w->depth == 0 || w->place != w->after ||
        !buf_add_char(w->out, w->after == JSON_PLACE_KEY ? '}' : ']')) {
        fail(w);
        return;
    }
    w->depth--;
    w->place = w->after = after_of(w);
    w->need_comma = true;
}

void jw_open(struct json_writer *w, struct str text, unsigned objects)
{
    if (w->depth + objects > JSON_WRITE_DEPTH ||
        (!is_ready(w, JSON_PLACE_VALUE, text.len) && !make_ready(w, JSON_PLACE_VALUE, text.len))) {
        fail(w);
        return;
    }
    char *end = bytes_put(begin(w), text.at, text.len);
    w->out->len = (size_t)(end - w->out->at);
    for (unsigned i = 0; i < objects; i++, w->depth++)
        w->object_bits[w->depth / 64] |= UINT64_C(1) << (w->depth % 64);
    w->place = JSON_PLACE_VALUE;
    w->after = JSON_PLACE_KEY;
    w->need_comma = false;
}

void jw_close(struct json_writer *w, unsigned objects)
{
    while (objects--)
        jw_end(w);
}

void jw_i64(struct json_writer *w, int64_t n)
{
    struct number_text text;

    number_from_i64(n, &text);
    value_put(w, number_str(&text));
}

void jw_double(struct json_writer *w, double d)
{
    struct number_text text;

    if (!__builtin_isfinite(d)) {
        fail(w);
        return;
    }
    number_shortest(d, &text);
    value_put(w, number_str(&text));
}

void jw_bool(struct json_writer *w, bool truth)
{
    value_put(w, truth ? STR("true") : STR("false"));
}

void jw_null(struct json_writer *w)
{
    value_put(w, STR("null"));
}

void jw_raw(struct json_writer *w, struct str json)
{
    if (json.len == 0) {
        fail(w);
        return;
    }
    value_put(w, json);
}

/* --- trees --- */

/*
 * A tree is walked twice. tree_size checks everything that could be wrong and counts the bytes;
 * tree_put then writes them without checks. The recursion ends when `levels`, the writer's
 * remaining depth, is used up.
 */
static bool tree_size(const struct json *v, unsigned levels, size_t *size);

static inline bool text_size(struct str s, size_t *size)
{
    size_t more = 0;

    if (s.len && !escapes_count(s, &more))
        return false;
    *size += s.len + more + 2;
    return true;
}

static bool children_size(const struct json *v, unsigned levels, size_t *size)
{
    if (levels == 0)
        return false;
    *size += 2 + (v->count ? v->count - 1 : 0);
    for (const struct json *child = v->first; child; child = child->next) {
        if (v->type == JSON_OBJECT) {
            if (child->plain)
                *size += child->key.len + 2;
            else if (!text_size(child->key, size))
                return false;
            *size += 1;
        }
        if (!tree_size(child, levels - 1, size))
            return false;
    }
    return true;
}

static inline struct str word_of(const struct json *v)
{
    if (v->type == JSON_NULL)
        return STR("null");
    return v->truth ? STR("true") : STR("false");
}

static inline bool is_written_raw(const struct json *v)
{
    return v->raw.len && !v->lines;
}

static bool tree_size(const struct json *v, unsigned levels, size_t *size)
{
    if (is_written_raw(v)) {
        *size += v->raw.len;
        return true;
    }
    switch ((enum json_type)v->type) {
    case JSON_NULL:
    case JSON_BOOL:
        *size += word_of(v).len;
        return true;
    case JSON_NUMBER:
        *size += v->text.len;
        return v->text.len != 0;
    case JSON_STRING:
        return text_size(v->text, size);
    case JSON_ARRAY:
    case JSON_OBJECT:
        return children_size(v, levels, size);
    }
    return false;
}

static char *tree_put(char *to, const struct json *v);

static char *children_put(char *to, const struct json *v)
{
    bool object = v->type == JSON_OBJECT;

    *to++ = object ? '{' : '[';
    for (const struct json *child = v->first; child; child = child->next) {
        if (object) {
            to = quoted_put(to, child->key, child->plain);
            *to++ = ':';
        }
        if (is_written_raw(child))
            to = bytes_put(to, child->raw.at, child->raw.len);
        else
            to = tree_put(to, child);
        if (child->next)
            *to++ = ',';
    }
    *to++ = object ? '}' : ']';
    return to;
}

static char *tree_put(char *to, const struct json *v)
{
    if (is_written_raw(v))
        return bytes_put(to, v->raw.at, v->raw.len);
    if (v->type >= JSON_ARRAY)
        return children_put(to, v);
    if (v->type == JSON_STRING)
        return quoted_put(to, v->text, false);
    struct str text = v->type == JSON_NUMBER ? v->text : word_of(v);
    return bytes_put(to, text.at, text.len);
}

void jw_value(struct json_writer *w, const struct json *v)
{
    size_t size = 0;

    if (!v) {
        jw_null(w);
        return;
    }
    if (w->failed || !tree_size(v, JSON_WRITE_DEPTH - w->depth, &size)) {
        fail(w);
        return;
    }
    if (make_ready(w, JSON_PLACE_VALUE, size))
        value_end(w, tree_put(begin(w), v));
}

bool json_write(struct buf *out, const struct json *v)
{
    struct json_writer w;

    json_writer_init(&w, out);
    jw_value(&w, v);
    return json_writer_done(&w);
}

void jw_key_time(struct json_writer *w, struct str key, int64_t ms)
{
    char text[TIME_TEXT_MAX];

    clock_date(ms / 1000, text);
    int more = snprintf(text + CLOCK_DATE_LEN, sizeof(text) - CLOCK_DATE_LEN, ".%03uZ",
                        (unsigned)(ms % 1000) % 1000u);
    jw_key(w, key);
    jw_plain_str(w, str_n(text, CLOCK_DATE_LEN + (size_t)more));
}
