/*
 * tests/unit/json/tree: one arena and one buffer for the JSON tests, and short ways to parse and
 * write. Before a text is given to json_parse it is copied into a block of its exact size, so that
 * a sanitizer sees a read past its end.
 */
#ifndef NOD_TESTS_JSON_TREE_H
#define NOD_TESTS_JSON_TREE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "json/write.h"

enum { TREE_ARENA = 64 << 20, TREE_BUF = 64 << 20, TREE_TEXTS = 64 };

static struct arena arena;
static struct buf out;
static struct json_error error;
static char *texts[TREE_TEXTS];
static size_t text_next;

static inline int tree_setup(void **state)
{
    (void)state;
    arena_init(&arena, TREE_ARENA);
    buf_init(&out, TREE_BUF);
    return 0;
}

static inline int tree_teardown(void **state)
{
    (void)state;
    for (size_t i = 0; i < TREE_TEXTS; i++) {
        free(texts[i]);
        texts[i] = NULL;
    }
    arena_finish(&arena);
    buf_finish(&out);
    return 0;
}

/* The newest TREE_TEXTS texts are kept, and the trees parsed from them are good. */
static inline struct str tree_exact(struct str text)
{
    char *copy = malloc(text.len ? text.len : 1);

    assert_non_null(copy);
    free(texts[text_next % TREE_TEXTS]);
    texts[text_next++ % TREE_TEXTS] = copy;
    if (text.len)
        memcpy(copy, text.at, text.len);
    return str_n(copy, text.len);
}

static inline struct json *tree_parse_with(struct str text, const struct json_opts *opts)
{
    struct json *v = json_parse(&arena, tree_exact(text), opts, &error);
    if (v)
        assert_null(error.what);
    else
        assert_non_null(error.what);
    return v;
}

static inline struct json *tree_parse(const char *text)
{
    return tree_parse_with(str_of(text), NULL);
}

/* The text must be valid. */
static inline struct json *tree(const char *text)
{
    struct json *v = tree_parse(text);

    if (!v)
        fail_msg("%s: %s at %zu", text, error.what, error.offset);
    return v;
}

/* NUL-terminated, until the next one. */
static inline const char *tree_text(const struct json *v)
{
    buf_clear(&out);
    assert_true(json_write(&out, v));
    assert_true(buf_add_char(&out, '\0'));
    return out.at;
}

static inline const char *tree_canonical(const struct json *v)
{
    buf_clear(&out);
    assert_true(json_write_canonical(&out, v));
    assert_true(buf_add_char(&out, '\0'));
    return out.at;
}

#define TREE_TEST(test) cmocka_unit_test_setup_teardown(test, tree_setup, tree_teardown)
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#endif
