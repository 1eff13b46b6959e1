/*
 * tests/fuzz/json: any bytes, parsed both ways. What is accepted must come out of the writer (raw,
 * and walked from a copy) as text on one line that parses to an equal tree. The canonical form of a
 * canonical form is itself.
 */
#include <stdint.h>
#include <stdlib.h>

#include "json/write.h"
#include "target.h"

enum { FUZZ_ARENA = 8 << 20, FUZZ_TEXT = 1 << 20 };

static void require(bool held)
{
    if (!held)
        abort();
}

static void parses_back(struct arena *arena, struct str text, const struct json *v)
{
    static const struct json_opts deep = { .max_depth = JSON_DEPTH_MAX };
    struct json *back = json_parse(arena, text, &deep, NULL);

    require(back || arena->exhausted);
    if (back) {
        require(json_equal(v, back));
        require(json_equal(back, v));
    }
}

static void written_text_parses_back(struct arena *arena, const struct json *v)
{
    struct buf out;

    buf_init(&out, FUZZ_TEXT * 8);
    require(json_write(&out, v));
    require(!memchr(out.at, '\n', out.len) && !memchr(out.at, '\r', out.len));
    parses_back(arena, buf_str(&out), v);
    buf_finish(&out);
}

static void canonical_is_stable(struct arena *arena, const struct json *v)
{
    static const struct json_opts deep = { .max_depth = JSON_DEPTH_MAX };
    struct buf once;
    struct buf twice;

    buf_init(&once, FUZZ_TEXT * 8);
    buf_init(&twice, FUZZ_TEXT * 8);
    require(json_write_canonical(&once, v));
    struct json *back = json_parse(arena, buf_str(&once), &deep, NULL);
    require(back || arena->exhausted);
    if (back) {
        require(json_write_canonical(&twice, back));
        require(str_eq(buf_str(&once), buf_str(&twice)));
    }
    buf_finish(&twice);
    buf_finish(&once);
}

/* Two neighbours are in some order, and the same one from either side. */
static void numbers_agree(const struct json *v)
{
    JSON_EACH (child, v) {
        if (json_is(child, JSON_NUMBER) && json_is(child->next, JSON_NUMBER)) {
            int cmp = json_number_cmp(child, child->next);
            int64_t a;
            int64_t b;
            double x;
            double y;
            require(json_number_cmp(child->next, child) == -cmp);
            require(json_equal(child, child->next) == (cmp == 0));
            if (json_i64(child, &a) && json_i64(child->next, &b))
                require((a > b) - (a < b) == cmp);
            if (json_double(child, &x) && json_double(child->next, &y))
                require(cmp >= 0 ? x >= y : x <= y);
        }
        numbers_agree(child);
    }
}

static void parse_once(struct str text, const struct json_opts *opts)
{
    struct json_error error;
    struct arena arena;

    arena_init(&arena, FUZZ_ARENA);
    struct json *v = json_parse(&arena, text, opts, &error);
    if (!v) {
        require(error.what && error.offset <= text.len);
        require(error.status == NOD_E_PARSE || error.status == NOD_E_LIMIT);
    } else {
        struct json *copy = json_copy(&arena, v);
        written_text_parses_back(&arena, v);
        if (copy) {
            require(json_equal(copy, v));
            written_text_parses_back(&arena, copy);
        }
        canonical_is_stable(&arena, v);
        numbers_agree(v);
    }
    arena_finish(&arena);
}

FUZZ_TARGET(json)
{
    struct str text = str_n((const char *)data, size);

    if (size > FUZZ_TEXT)
        return 0;
    parse_once(text, NULL);
    parse_once(text, &(struct json_opts){ .max_depth = JSON_DEPTH_MAX, .refuse_duplicates = true });
    return 0;
}
