/*
 * tests/unit/store/record_codec: records to bytes and back; what is refused, and why.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "crypto/inner_seal.h"
#include "json/value.h"
#include "store/record_codec.h"
#include "../runner.h"

static struct arena arena;
static struct keyring *ring;
static const struct str id = STR_INIT("0123456789abcdefghijkl");
static const struct str other = STR_INIT("lkjihgfedcba9876543210");

static struct keyring *ring_of(const struct str *secrets, size_t count)
{
    struct keyring *made = NULL;
    const char *why;

    assert_int_equal(keyring_create(secrets, count, &made, &why), NOD_OK);
    return made;
}

static int setup(void **state)
{
    static const struct str secret = STR_INIT("0123456789abcdef0123456789abcdef");

    (void)state;
    arena_init(&arena, 64 << 20);
    ring = ring_of(&secret, 1);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_finish(&arena);
    keyring_destroy(ring);
    return 0;
}

static struct call_record a_call(void)
{
    return (struct call_record){ .id = id,
                                 .principal = STR("ada"),
                                 .scope = STR("ada/1"),
                                 .kind = TARGET_PROMPT,
                                 .target = STR("tool"),
                                 .args = STR("{\"a\":\"\\u0000\"}"),
                                 .caller = STR("{}"),
                                 .version = CALL_VERSION_LEAST + 7 };
}

static struct ask_record an_ask(void)
{
    struct ask_record ask = { .id = id,
                              .call_id = other,
                              .key = STR("#1"),
                              .principal = STR("ada"),
                              .scope = STR("ada/1"),
                              .kind = ASK_ROOTS,
                              .sensitive = true,
                              .approver = 4,
                              .message = STR("caf\xc3\xa9?"),
                              .ttl_ms = INT64_MAX,
                              .attempts = -1,
                              .attempt = 2147483647,
                              .seq = UINT64_MAX,
                              .state = ASK_DECLINED,
                              .by = STR("bob"),
                              .ended_ms = INT64_MIN };

    for (int i = 0; i < DIGEST_BYTES; i++)
        ask.digest[i] = (unsigned char)(200 + i);
    return ask;
}

static struct str call_bytes(struct codec *codec)
{
    struct call_record call = a_call();
    struct buf out;

    buf_init(&out, 1 << 20);
    assert_int_equal(codec_write_call(codec, &call, &out), NOD_OK);
    struct str kept = arena_str(&arena, buf_str(&out));
    buf_finish(&out);
    return kept;
}

static void records_read_as_they_were_written(void **state)
{
    (void)state;

    for (int sealed = 0; sealed < 2; sealed++) {
        struct codec codec = { .ring = sealed ? ring : NULL };
        struct call_record call = { 0 };
        struct ask_record ask = { 0 }, asked = an_ask();
        struct buf out, answer;

        assert_int_equal(codec_read_call(&codec, id, call_bytes(&codec), &arena, &call), NOD_OK);
        assert_true(str_eq(call.args, a_call().args) && str_eq(call.scope, STR("ada/1")));
        assert_int_equal(call.kind, TARGET_PROMPT);
        buf_init(&out, 1 << 20);
        buf_init(&answer, 1 << 20);
        assert_int_equal(codec_write_ask(&codec, &asked, &out), NOD_OK);
        assert_int_equal(codec_read_ask(&codec, id, buf_str(&out), &arena, &ask), NOD_OK);
        assert_true(str_eq(ask.message, asked.message) && str_eq(ask.call_id, other));
        assert_memory_equal(ask.digest, asked.digest, DIGEST_BYTES);
        assert_true(ask.sensitive && !ask.consent && !ask.wait_done);
        assert_int_equal(ask.approver, asked.approver);
        assert_true(ask.ttl_ms == INT64_MAX && ask.seq == UINT64_MAX);
        assert_true(ask.attempts == -1 && ask.attempt == 2147483647);
        assert_int_equal(codec_write_answer(&codec, &asked, &answer), NOD_OK);
        assert_int_equal(codec_read_answer(&codec, buf_str(&answer), &arena, &ask), NOD_OK);
        assert_true(ask.state == ASK_DECLINED && ask.ended_ms == INT64_MIN);
        assert_true(str_eq(ask.by, STR("bob")));
        buf_finish(&out);
        buf_finish(&answer);
    }
}

/* Byte by byte what was written before the client, and then the request's _meta, were kept. */
static void an_older_record_is_one_without_its_last_texts(void **state)
{
    struct codec codec = { 0 };
    struct call_record call = a_call(), read = { 0 };
    struct str plain = call_bytes(&codec);
    struct buf out;
    (void)state;

    buf_init(&out, 1 << 20);
    call.client = STR("{\"name\":\"c\"}");
    assert_int_equal(codec_write_call(&codec, &call, &out), NOD_OK);
    assert_true(str_starts(buf_str(&out), plain));
    assert_int_equal(out.len, plain.len + 1 + call.client.len);
    for (int meta = 0; meta < 2; meta++) {
        call.meta = meta ? STR("{\"a\":1}") : STR_NONE;
        buf_clear(&out);
        assert_int_equal(codec_write_call(&codec, &call, &out), NOD_OK);
        assert_int_equal(codec_read_call(&codec, id, buf_str(&out), &arena, &read), NOD_OK);
        assert_true(str_eq(read.client, call.client) && str_eq(read.meta, call.meta));
    }
    assert_int_equal(codec_read_call(&codec, id, plain, &arena, &read), NOD_OK);
    assert_int_equal(read.client.len + read.meta.len, 0);
    call.client = STR_NONE;
    buf_clear(&out);
    assert_int_equal(codec_write_call(&codec, &call, &out), NOD_OK);
    assert_int_equal(codec_read_call(&codec, id, buf_str(&out), &arena, &read), NOD_OK);
    assert_true(read.client.len == 0 && str_eq(read.meta, call.meta));
    buf_finish(&out);
}

static void every_cut_and_every_flipped_byte_of_a_sealed_record_is_refused(void **state)
{
    struct codec codec = { .ring = ring };
    struct str bytes = call_bytes(&codec);
    char *copy = malloc(bytes.len);
    (void)state;

    assert_non_null(copy);
    for (size_t i = 0; i < bytes.len; i++) {
        struct call_record call = { 0 };
        assert_int_not_equal(codec_read_call(&codec, id, str_n(bytes.at, i), &arena, &call),
                             NOD_OK);
        memcpy(copy, bytes.at, bytes.len);
        copy[i] = (char)(copy[i] ^ 1);
        assert_int_not_equal(codec_read_call(&codec, id, str_n(copy, bytes.len), &arena, &call),
                             NOD_OK);
        assert_non_null(codec.why);
    }
    free(copy);
}

static void every_cut_of_a_plain_record_is_refused(void **state)
{
    struct codec codec = { 0 };
    struct str bytes = call_bytes(&codec);
    (void)state;

    for (size_t i = 0; i < bytes.len; i++) {
        struct call_record call = { 0 };
        char *exact = malloc(i + 1); /* a read behind its end is seen */
        assert_non_null(exact);
        memcpy(exact, bytes.at, i);
        assert_int_equal(codec_read_call(&codec, id, str_n(exact, i), &arena, &call), NOD_E_PARSE);
        free(exact);
    }
}

static void a_record_that_was_moved_is_refused(void **state)
{
    struct codec codec = { .ring = ring };
    struct call_record call = { 0 };
    struct ask_record ask = an_ask(), into = { .id = id, .scope = STR("bob/1") };
    struct str bytes = call_bytes(&codec), text;
    struct buf out;
    (void)state;

    assert_int_equal(codec_read_call(&codec, other, bytes, &arena, &call), NOD_E_REFUSED);
    assert_int_equal(codec_read_ask(&codec, id, bytes, &arena, &ask), NOD_E_PARSE);
    buf_init(&out, 1 << 20);
    ask = an_ask();
    codec_write_answer(&codec, &ask, &out);
    assert_int_equal(codec_read_answer(&codec, buf_str(&out), &arena, &into), NOD_E_REFUSED);
    buf_clear(&out);
    codec_write_text(&codec, CODEC_VALUE, STR("grant"), STR("k"), STR("v"), &out);
    assert_int_equal(codec_read_text(&codec, CODEC_VALUE, STR("session"), STR("k"), buf_str(&out),
                                     &arena, &text),
                     NOD_E_REFUSED);
    assert_int_equal(
        codec_read_text(&codec, CODEC_VALUE, STR("grant"), STR("k"), buf_str(&out), &arena, &text),
        NOD_OK);
    buf_finish(&out);
}

static void sealed_and_plain_are_not_taken_for_each_other(void **state)
{
    struct codec sealing = { .ring = ring }, plain = { 0 };
    struct call_record call = { 0 };
    (void)state;

    assert_int_equal(codec_read_call(&sealing, id, call_bytes(&plain), &arena, &call),
                     NOD_E_REFUSED);
    assert_non_null(strstr(sealing.why, "not sealed"));
    assert_int_equal(codec_read_call(&plain, id, call_bytes(&sealing), &arena, &call),
                     NOD_E_REFUSED);
    assert_non_null(strstr(plain.why, "no secret"));
}

static void a_newer_record_is_refused_as_such(void **state)
{
    struct codec codec = { 0 };
    struct str bytes = call_bytes(&codec);
    char *newer = malloc(bytes.len);
    struct call_record call = { 0 };
    (void)state;

    assert_non_null(newer);
    memcpy(newer, bytes.at, bytes.len);
    newer[0] = CODEC_VERSION + 1;
    assert_int_equal(codec_read_call(&codec, id, str_n(newer, bytes.len), &arena, &call),
                     NOD_E_PARSE);
    assert_non_null(strstr(codec.why, "newer"));
    free(newer);
}

static void the_newest_secret_seals_and_the_older_ones_open(void **state)
{
    static const struct str first = STR_INIT("first-first-first-first-first-first");
    static const struct str second = STR_INIT("second-second-second-second-second-");
    static const struct str third = STR_INIT("third-third-third-third-third-third-");
    struct codec old = { .ring = ring_of(&first, 1) };
    struct codec now = { .ring = ring_of((struct str[]){ third, second, first }, 3) };
    struct codec newest = { .ring = ring_of(&third, 1) };
    struct call_record call = { 0 };
    (void)state;

    assert_int_equal(codec_read_call(&now, id, call_bytes(&old), &arena, &call), NOD_OK);
    assert_int_equal(codec_read_call(&newest, id, call_bytes(&now), &arena, &call), NOD_OK);
    assert_int_equal(codec_read_call(&old, id, call_bytes(&now), &arena, &call), NOD_E_REFUSED);
    assert_int_equal(codec_read_call(&newest, id, call_bytes(&old), &arena, &call), NOD_E_REFUSED);
    keyring_destroy(old.ring);
    keyring_destroy(now.ring);
    keyring_destroy(newest.ring);
}

/* A small record whose value was sealed before the codec saw it. */
static void a_value_that_is_sealed_inside_comes_under_the_newest_secret_too(void **state)
{
    static const struct str first = STR_INIT("first-first-first-first-first-first");
    static const struct str second = STR_INIT("second-second-second-second-second-");
    struct codec old = { .ring = ring_of(&first, 1) };
    struct codec both = { .ring = ring_of((struct str[]){ second, first }, 2) };
    struct codec newest = { .ring = ring_of(&second, 1) };
    struct buf inner, record, again;
    struct hidden value;
    struct str text;
    (void)state;

    buf_init(&inner, 1 << 16);
    buf_init(&record, 1 << 16);
    buf_init(&again, 1 << 16);
    assert_int_equal(inner_seal(old.ring, STR("secret"), id, STR("sk_1"), &inner), NOD_OK);
    text = arena_fmt(&arena, "{\"name\":\"a\",\"sealed\":\"" STR_FMT "\",\"at\":1}",
                     STR_ARG(buf_str(&inner)));
    assert_int_equal(codec_write_text(&old, CODEC_VALUE, STR("secret"), id, text, &record), NOD_OK);
    assert_int_equal(codec_reseal(&both, CODEC_VALUE, id, buf_str(&record), false, &arena, &again),
                     NOD_OK);
    assert_int_equal(
        codec_read_text(&newest, CODEC_VALUE, STR("secret"), id, buf_str(&again), &arena, &text),
        NOD_OK);
    struct json *v = json_parse(&arena, text, NULL, NULL);
    assert_true(str_eq(json_get_str(v, STR("name")), STR("a")));
    assert_int_equal(
        inner_open(newest.ring, STR("secret"), id, json_get_str(v, STR("sealed")), &value), NOD_OK);
    assert_true(str_eq(hidden_str(&value), STR("sk_1")));
    hidden_wipe(&value);

    /* in the place of another it stays as it is, and is counted as refused */
    buf_clear(&record), buf_clear(&again);
    text = arena_fmt(&arena, "{\"sealed\":\"" STR_FMT "\"}", STR_ARG(buf_str(&inner)));
    assert_int_equal(codec_write_text(&old, CODEC_VALUE, STR("secret"), other, text, &record),
                     NOD_OK);
    assert_int_equal(
        codec_reseal(&both, CODEC_VALUE, other, buf_str(&record), false, &arena, &again),
        NOD_E_REFUSED);
    assert_int_equal(again.len, 0);
    buf_finish(&inner);
    buf_finish(&record);
    buf_finish(&again);
    keyring_destroy(old.ring);
    keyring_destroy(both.ring);
    keyring_destroy(newest.ring);
}

static void too_many_entries_are_refused_before_there_is_room_for_them(void **state)
{
    /* A head, an empty scope, and a count of 2^40 entries in seven bytes. */
    static const char bytes[] = { 1,          CODEC_ENTRIES, 0,          0,          (char)0x80,
                                  (char)0x80, (char)0x80,    (char)0x80, (char)0x80, 32 };
    struct codec codec = { 0 };
    struct entry *entries;
    size_t count;
    (void)state;

    assert_int_equal(
        codec_read_entries(&codec, id, str_n(bytes, sizeof(bytes)), &arena, &entries, &count),
        NOD_E_PARSE);
    assert_null(entries);
}

static void what_is_too_large_is_not_written_at_all(void **state)
{
    struct codec codec = { .ring = ring };
    struct call_record call = a_call();
    struct buf out;
    (void)state;

    buf_init(&out, 50);
    assert_true(buf_add(&out, STR("before")));
    assert_int_equal(codec_write_call(&codec, &call, &out), NOD_E_LIMIT);
    assert_true(str_eq(buf_str(&out), STR("before")));
    buf_finish(&out);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* An older nod counted turns of another plan, and did not say what was listed. */
static void whether_an_ask_is_listed_is_kept_and_older_ones_past_the_first_turn_are(void **state)
{
    static const struct {
        uint8_t turn;
        enum ask_listed listed;
    } cases[] = {
        { 0, NOT_LISTED }, { 0, LISTED }, { 0, LISTED_BY_CLOCK },
        { 2, NOT_LISTED }, { 2, LISTED }, { 1, LISTED_BY_CLOCK },
    };
    struct codec codec = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ask_record ask = an_ask(), read = { 0 };
        struct buf out;
        ask.page = PAGE_CONNECT;
        ask.turn = cases[i].turn;
        ask.listed = cases[i].listed;
        buf_init(&out, 1 << 20);
        assert_int_equal(codec_write_ask(&codec, &ask, &out), NOD_OK);
        assert_int_equal(codec_read_ask(&codec, id, buf_str(&out), &arena, &read), NOD_OK);
        assert_int_equal(read.turn, cases[i].turn);
        assert_int_equal(read.listed, cases[i].listed);
        assert_int_equal(read.page, PAGE_CONNECT);
        buf_finish(&out);
    }

    /* The flags as they were: two bytes instead of three. */
    struct ask_record ask = an_ask(), read = { 0 };
    struct buf out, older;
    ask.turn = 2;
    buf_init(&out, 1 << 20);
    buf_init(&older, 1 << 20);
    assert_int_equal(codec_write_ask(&codec, &ask, &out), NOD_OK);
    struct str bytes = buf_str(&out);
    unsigned flags = 2 | 4 << 3 | 2 << 7, written = flags | 3 << 13;
    char now[] = { (char)(written | 0x80), (char)(written >> 7 | 0x80), (char)(written >> 14) };
    char then[] = { (char)(flags | 0x80), (char)(flags >> 7) };
    const char *at = memmem(bytes.at, bytes.len, now, sizeof(now));
    assert_non_null(at);
    buf_add(&older, str_n(bytes.at, (size_t)(at - bytes.at)));
    buf_add(&older, str_n(then, sizeof(then)));
    buf_add(&older, str_skip(bytes, (size_t)(at - bytes.at) + sizeof(now)));
    assert_int_equal(codec_read_ask(&codec, id, buf_str(&older), &arena, &read), NOD_OK);
    assert_int_equal(read.turn, 2);
    assert_int_equal(read.listed, LISTED);
    assert_string_equal(arena_fmt(&arena, STR_FMT, STR_ARG(read.message)).at, "caf\xc3\xa9?");
    buf_finish(&older);
    buf_finish(&out);
}

SUBJECT(record_codec)
{
    const struct CMUnitTest tests[] = {
        TEST(records_read_as_they_were_written),
        TEST(an_older_record_is_one_without_its_last_texts),
        TEST(every_cut_and_every_flipped_byte_of_a_sealed_record_is_refused),
        TEST(every_cut_of_a_plain_record_is_refused),
        TEST(a_record_that_was_moved_is_refused),
        TEST(sealed_and_plain_are_not_taken_for_each_other),
        TEST(a_newer_record_is_refused_as_such),
        TEST(the_newest_secret_seals_and_the_older_ones_open),
        TEST(a_value_that_is_sealed_inside_comes_under_the_newest_secret_too),
        TEST(too_many_entries_are_refused_before_there_is_room_for_them),
        TEST(what_is_too_large_is_not_written_at_all),
        TEST(whether_an_ask_is_listed_is_kept_and_older_ones_past_the_first_turn_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
