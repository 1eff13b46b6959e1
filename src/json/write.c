/*
 * json/write: the writer, trees, and the canonical form.
 *
 * Every value passes value_begin, every key jw_key, and both know the one thing that may come
 * next; that is all the grammar there is. A failed writer leaves the buffer as it is: whoever looks
 * at the bytes has asked json_writer_done first.
 *
 * A parsed value is written by its raw bytes, unless they span several lines: then it is walked, so
 * that what is written never holds a line end (stdio and SSE frames depend on it). Raw bytes handed
 * to jw_raw are the caller's word.
 *
 * The canonical form sorts members by UTF-16 code units and writes numbers as ECMAScript does.
 */
#include "json/write.h"

#include "base/mem.h"
#include "json/members.h"
#include "json/number.h"
#include "json/utf8.h"

_Static_assert((int)JSON_WRITE_DEPTH >= (int)JSON_DEPTH_MAX, "what was parsed can be written");
_Static_assert(JSON_WRITE_DEPTH <= UINT8_MAX, "depth is counted in 8 bits");

void json_writer_init(struct json_writer *w, struct buf *out)
{
    *w = (struct json_writer){ .out = out };
}

bool json_writer_done(const struct json_writer *w)
{
    return w->whole && !w->failed && !w->out->overflow;
}

static void __attribute__((cold)) fail(struct json_writer *w)
{
    w->failed = true;
}

static inline bool in_object(const struct json_writer *w)
{
    unsigned level = w->depth - 1u;

    return w->depth && (w->object_bits[level / 64] >> (level % 64) & 1);
}

/*
 * Before any value: is this its place, and is there room for its bytes and a comma? Where to write,
 * or NULL. value_end is told where the bytes end.
 */
static inline char *value_begin(struct json_writer *w, size_t len)
{
    if (w->failed || w->whole || w->have_key != in_object(w)) {
        fail(w);
        return NULL;
    }
    char *to = buf_reserve(w->out, len + w->need_comma);
    if (!to) {
        fail(w);
        return NULL;
    }
    if (w->need_comma)
        *to++ = ',';
    return to;
}

static inline void value_end(struct json_writer *w, const char *end)
{
    w->out->len = (size_t)(end - w->out->at);
    w->need_comma = true;
    w->have_key = false;
    w->whole = w->depth == 0;
}

/* Bytes that are one value. */
static inline void value_put(struct json_writer *w, struct str bytes)
{
    char *to = value_begin(w, bytes.len);

    if (!to)
        return;
    memcpy(to, bytes.at, bytes.len);
    value_end(w, to + bytes.len);
}

/* --- strings ----------------------------------------------------------------------------- */

/* The letter of the short escape, 'u' for the long one, 0 for none. */
static const char escape_of[128] = {
    'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'b',         't',           'n', 'u',
    'f', 'r', 'u', 'u', 'u', 'u', 'u', 'u', 'u',         'u',           'u', 'u',
    'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', ['"'] = '"', ['\\'] = '\\',
};

/* How many bytes escaping adds; false if the text is not UTF-8, or too long to be counted. */
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

static char *quoted_put(char *to, struct str s, size_t more)
{
    *to++ = '"';
    if (more == 0) {
        if (s.len)
            memcpy(to, s.at, s.len);
        to += s.len;
    } else {
        for (size_t i = 0; i < s.len; i++) {
            unsigned char c = (unsigned char)s.at[i];
            if (c < 0x80 && escape_of[c])
                to = escape_put(to, c);
            else
                *to++ = (char)c;
        }
    }
    *to++ = '"';
    return to;
}

void jw_str(struct json_writer *w, struct str s)
{
    size_t more = 0;

    if (s.len && !escapes_count(s, &more)) {
        fail(w);
        return;
    }
    char *to = value_begin(w, s.len + more + 2);
    if (to)
        value_end(w, quoted_put(to, s, more));
}

/* A name of which it is known how many bytes escaping adds to it. */
static inline void key_put(struct json_writer *w, struct str key, size_t more)
{
    if (w->failed || w->have_key || !in_object(w)) {
        fail(w);
        return;
    }
    char *to = buf_reserve(w->out, key.len + more + 3 + w->need_comma);
    if (!to) {
        fail(w);
        return;
    }
    if (w->need_comma)
        *to++ = ',';
    to = quoted_put(to, key, more);
    *to++ = ':';
    w->out->len = (size_t)(to - w->out->at);
    w->need_comma = false;
    w->have_key = true;
}

void jw_key(struct json_writer *w, struct str key)
{
    size_t more = 0;

    if (key.len && !escapes_count(key, &more)) {
        fail(w);
        return;
    }
    key_put(w, key, more);
}

/* --- containers and other scalars -------------------------------------------------------- */

static void container_begin(struct json_writer *w, bool object)
{
    if (w->depth == JSON_WRITE_DEPTH) {
        fail(w);
        return;
    }
    char *to = value_begin(w, 1);
    if (!to)
        return;
    *to++ = object ? '{' : '[';
    value_end(w, to);

    uint64_t bit = UINT64_C(1) << (w->depth % 64);
    if (object)
        w->object_bits[w->depth / 64] |= bit;
    else
        w->object_bits[w->depth / 64] &= ~bit;
    w->depth++;
    w->whole = false;
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

void jw_end(struct json_writer *w)
{
    if (w->failed || w->depth == 0 || w->have_key) {
        fail(w);
        return;
    }
    if (!buf_add_char(w->out, in_object(w) ? '}' : ']')) {
        fail(w);
        return;
    }
    w->depth--;
    w->need_comma = true;
    w->whole = w->depth == 0;
}

void jw_i64(struct json_writer *w, int64_t n)
{
    struct number_text text;

    number_from_i64(n, &text);
    value_put(w, number_str(&text));
}

void jw_u64(struct json_writer *w, uint64_t n)
{
    struct number_text text;

    number_from_u64(n, &text);
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

/* --- trees -------------------------------------------------------------------------------- */

/* The recursion ends with the writer's depth: past it jw_object and jw_array fail. */
static void container_write(struct json_writer *w, const struct json *v)
{
    bool object = v->type == JSON_OBJECT;

    container_begin(w, object);
    for (const struct json *child = v->first; child && !w->failed; child = child->next) {
        if (object && child->plain)
            key_put(w, child->key, 0);
        else if (object)
            jw_key(w, child->key);
        jw_value(w, child);
    }
    jw_end(w);
}

void jw_value(struct json_writer *w, const struct json *v)
{
    if (!v) {
        jw_null(w);
        return;
    }
    if (v->raw.len && !v->lines) {
        value_put(w, v->raw);
        return;
    }
    switch ((enum json_type)v->type) {
    case JSON_NULL:
        jw_null(w);
        break;
    case JSON_BOOL:
        jw_bool(w, v->truth);
        break;
    case JSON_NUMBER:
        jw_raw(w, v->text);
        break;
    case JSON_STRING:
        jw_str(w, v->text);
        break;
    case JSON_ARRAY:
    case JSON_OBJECT:
        container_write(w, v);
        break;
    }
}

void jw_key_str(struct json_writer *w, struct str key, struct str s)
{
    jw_key(w, key);
    jw_str(w, s);
}

void jw_key_i64(struct json_writer *w, struct str key, int64_t n)
{
    jw_key(w, key);
    jw_i64(w, n);
}

void jw_key_bool(struct json_writer *w, struct str key, bool truth)
{
    jw_key(w, key);
    jw_bool(w, truth);
}

void jw_key_value(struct json_writer *w, struct str key, const struct json *v)
{
    jw_key(w, key);
    jw_value(w, v);
}

void jw_key_raw(struct json_writer *w, struct str key, struct str json)
{
    jw_key(w, key);
    jw_raw(w, json);
}

bool json_write(struct buf *out, const struct json *v)
{
    struct json_writer w;

    json_writer_init(&w, out);
    jw_value(&w, v);
    return json_writer_done(&w);
}

/* --- the canonical form ------------------------------------------------------------------- */

static void canonical_value(struct json_writer *w, const struct json *v);

static void canonical_array(struct json_writer *w, const struct json *v)
{
    jw_array(w);
    for (const struct json *item = v->first; item && !w->failed; item = item->next)
        canonical_value(w, item);
    jw_end(w);
}

static void canonical_object(struct json_writer *w, const struct json *v)
{
    const struct json **members = members_sorted(v);

    jw_object(w);
    for (uint32_t i = 0; i < v->count && !w->failed; i++) {
        jw_key(w, members[i]->key);
        canonical_value(w, members[i]);
    }
    jw_end(w);
    mem_free(members);
}

static void canonical_number(struct json_writer *w, struct str number)
{
    struct number_text text;

    jw_raw(w, number_canonical(number, &text) ? number_str(&text) : number);
}

static void canonical_value(struct json_writer *w, const struct json *v)
{
    if (json_is(v, JSON_OBJECT))
        canonical_object(w, v);
    else if (json_is(v, JSON_ARRAY))
        canonical_array(w, v);
    else if (json_is(v, JSON_NUMBER))
        canonical_number(w, v->text);
    else if (json_is(v, JSON_STRING))
        jw_str(w, v->text);
    else
        jw_value(w, v);
}

bool json_write_canonical(struct buf *out, const struct json *v)
{
    struct json_writer w;

    json_writer_init(&w, out);
    canonical_value(&w, v);
    return json_writer_done(&w);
}
