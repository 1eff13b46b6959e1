/* tests/unit/core/record: records are copied whole; JSON is recognised by its digest. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/json_digest.h"
#include "core/outcome.h"
#include "core/record.h"
#include "world.h"
#include "../runner.h"

enum { ARENA_CAP = 1 << 20 };

static int arena_begin(void **state)
{
    static struct arena arena;

    arena_init(&arena, ARENA_CAP);
    *state = &arena;
    return 0;
}

static int arena_end(void **state)
{
    arena_finish(*state);
    return 0;
}

static void assert_digest(const struct digest *digest, const char *hex)
{
    char text[DIGEST_HEX_LEN + 1];

    digest_hex(digest, text);
    assert_string_equal(text, hex);
}

static void assert_json_digest(struct arena *arena, const char *json, const char *hex)
{
    struct json_error error;
    struct digest digest;
    struct json *value = json_parse(arena, str_of(json), NULL, &error);

    assert_non_null(value);
    assert_int_equal(digest_of_json(value, &digest), NOD_OK);
    assert_digest(&digest, hex);
}

/* The two examples of RFC 8785, sections 3.2.2 and 3.2.3. */
static void json_is_digested_in_its_canonical_form(void **state)
{
    assert_json_digest(
        *state,
        "{\n  \"numbers\": [333333333.33333329, 1E30, 4.50, 2e-3,\n"
        "  0.000000000000000000000000001],\n"
        "  \"string\": \"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\",\n"
        "  \"literals\": [null, true, false]\n}",
        "2d5e01a318d0f0879ab568c4be289c8b1f64ef8921a53c6277d5e069978baacb");
    assert_json_digest(*state,
                       "{\"\\u20ac\":\"Euro Sign\",\"\\r\":\"Carriage Return\","
                       "\"\\ufb33\":\"Hebrew Letter Dalet With Dagesh\",\"1\":\"One\","
                       "\"\\ud83d\\ude00\":\"Emoji: Grinning Face\",\"\\u0080\":\"Control\\u007f\","
                       "\"\\u00f6\":\"Latin Small Letter O With Diaeresis\"}",
                       "741eb039ec942f906d981b7a59f8fc4e2394b27b88d0947677f244132433a649");
}

/* Texts in memory that is gone after the copy was made. */
static struct str lent(char *heap, size_t *at, const char *text)
{
    struct str copy = { heap + *at, strlen(text) };

    memcpy(heap + *at, text, copy.len);
    *at += copy.len;
    return copy;
}

#define ASK_TEXTS(X)                                                                               \
    X(id)                                                                                          \
    X(call_id)                                                                                     \
    X(key) X(principal) X(scope) X(target) X(message) X(detail) X(url) X(content) X(by) X(via)
#define CALL_TEXTS(X)  X(id) X(principal) X(scope) X(target) X(args) X(uri) X(caller) X(result)
#define ENTRY_TEXTS(X) X(key) X(ask_id) X(content) X(by)

#define LEND(member)   from.member = lent(heap, &at, #member);
#define EXPECT(member) assert_true(str_eq(copy.member, STR(#member)));

static void a_copy_of_an_ask_is_whole(void **state)
{
    char *heap = calloc(1, 256);
    struct ask_record from = { .kind = ASK_URL, .state = ASK_DECLINED, .attempt = 3, .seq = 9 };
    size_t at = 0;

    ASK_TEXTS(LEND)
    struct ask_record copy = ask_record_copy(*state, &from);
    memset(heap, 'x', at);
    free(heap);
    ASK_TEXTS(EXPECT)
    assert_int_equal(copy.kind, ASK_URL);
    assert_int_equal(copy.state, ASK_DECLINED);
    assert_int_equal(copy.attempt, 3);
    assert_int_equal(copy.seq, 9);
}

static void a_copy_of_a_call_is_whole_with_its_journal(void **state)
{
    char *heap = calloc(1, 256);
    size_t at = 0;
    struct entry *entries = calloc(2, sizeof(*entries));
    struct call_record from = { .kind = TARGET_PROMPT, .epoch = 4, .handed = true };

    CALL_TEXTS(LEND)
    entries[1].class = ENTRY_STEP;
    entries[1].key = lent(heap, &at, "key");
    entries[1].ask_id = lent(heap, &at, "ask_id");
    entries[1].content = lent(heap, &at, "content");
    entries[1].by = lent(heap, &at, "by");
    from.entries = entries;
    from.entry_count = 2;
    struct call_record whole = call_record_copy(*state, &from);
    memset(heap, 'x', at);
    free(heap);
    free(entries);
    {
        struct call_record copy = whole;
        CALL_TEXTS(EXPECT)
    }
    assert_int_equal(whole.entry_count, 2);
    {
        struct entry copy = whole.entries[1];
        ENTRY_TEXTS(EXPECT)
        assert_int_equal(copy.class, ENTRY_STEP);
    }
    assert_int_equal(whole.epoch, 4);
    assert_true(whole.handed);
}

static void a_copy_that_finds_no_room_says_so(void **state)
{
    struct arena small;
    char text[4096];

    (void)state;
    memset(text, 'a', sizeof(text));
    arena_init(&small, 1024);
    ask_record_copy(&small, &(struct ask_record){ .message = str_n(text, sizeof(text)) });
    assert_true(small.exhausted);
    arena_finish(&small);
}

static void an_error_of_the_request_that_an_older_version_stored_is_still_one(void **state)
{
    struct outcome outcome;

    assert_int_equal(outcome_read(*state,
                                  STR("{\"status\":-3,\"code\":\"NOT_SUPPORTED\",\"message\":\"m\","
                                      "\"rpcCode\":-32021,\"rpcData\":{\"a\":1}}"),
                                  &outcome),
                     NOD_OK);
    assert_true(outcome.request_error);
    assert_true(str_eq(outcome.error_data, STR("{\"a\":1}")));
}

/* Whatever page is added: its form is checked, and what was entered is handed on. */
static bool link_made(void *data, const struct ask_record *ask, int64_t expires_ms, struct buf *url)
{
    (void)data;
    buf_fmt(url, "https://new.example/a/" STR_FMT "?%lld", STR_ARG(ask->id), (long long)expires_ms);
    return true;
}

static void a_link_that_an_older_version_has_stored_is_not_shown(void **state)
{
    struct ask_record ask = { .id = STR("i1"),
                              .kind = ASK_URL,
                              .page = PAGE_FORM,
                              .expires_ms = 7,
                              .url = STR("https://old.example/a/token") };
    static struct world world;
    struct arena arena;

    (void)state;
    world_init(&world, &(struct world_opts){ 0 });
    arena_init(&arena, 8 << 10);
    assert_int_equal(ask_url(world.engine, &ask, &arena).len, 0); /* there are no pages */
    engine_use_pages(world.engine,
                     &(struct engine_pages){ .link = link_made, .kinds = 1u << PAGE_FORM });
    assert_true(str_eq(ask_url(world.engine, &ask, &arena), STR("https://new.example/a/i1?7")));
    ask.page = PAGE_SECRET; /* which this server does not have */
    assert_int_equal(ask_url(world.engine, &ask, &arena).len, 0);
    ask.page = PAGE_NONE; /* what the author gave */
    assert_true(str_eq(ask_url(world.engine, &ask, &arena), STR("https://old.example/a/token")));
    arena_finish(&arena);
    world_finish(&world);
}

static void every_page_of_ours_says_what_an_answer_on_it_brings(void **state)
{
    (void)state;
    for (int page = PAGE_NONE; page < ASK_PAGES; page++) {
        enum page_brings brings = ask_page_brings((enum ask_page)page);
        struct ask_record ask = { .kind = ASK_URL,
                                  .page = (enum ask_page)page,
                                  .detail = STR("{}") };
        assert_in_range(brings, PAGE_BRINGS_NOTHING, PAGE_BRINGS_ANYTHING);
        assert_int_equal(ask_record_form(&ask).len != 0, brings == PAGE_BRINGS_FORM);
    }
    assert_int_equal(ask_page_brings(PAGE_FORM), PAGE_BRINGS_FORM);
    assert_int_equal(ask_page_brings(PAGE_FOREIGN), PAGE_BRINGS_ANYTHING);
}

SUBJECT(record)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_is_digested_in_its_canonical_form),
        cmocka_unit_test(a_copy_of_an_ask_is_whole),
        cmocka_unit_test(a_copy_of_a_call_is_whole_with_its_journal),
        cmocka_unit_test(a_copy_that_finds_no_room_says_so),
        cmocka_unit_test(an_error_of_the_request_that_an_older_version_stored_is_still_one),
        cmocka_unit_test(a_link_that_an_older_version_has_stored_is_not_shown),
        cmocka_unit_test(every_page_of_ours_says_what_an_answer_on_it_brings),
    };

    return cmocka_run_group_tests(tests, arena_begin, arena_end);
}
