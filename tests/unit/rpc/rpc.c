/* tests/unit/rpc/rpc: reading and writing messages, batches and ids. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "text.h"
#include "../runner.h"

enum { ARENA_CAP = 1 << 20, OUT_LIMIT = 1 << 16 };

#define assert_str(got, want)                                                                      \
    do {                                                                                           \
        struct str got_ = (got), want_ = (want);                                                   \
        if (!str_eq(got_, want_))                                                                  \
            fail_msg("got [" STR_FMT "], want [" STR_FMT "]", STR_ARG(got_), STR_ARG(want_));      \
    } while (0)

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

static struct rpc_message read_ok(struct arena *arena, const char *text)
{
    struct rpc_message message;
    struct rpc_fault fault;

    if (rpc_parse(arena, str_of(text), &message, &fault) != NOD_OK)
        fail_msg("%s: " STR_FMT, text, STR_ARG(fault.message));
    return message;
}

static struct rpc_fault read_bad(struct arena *arena, const char *text)
{
    struct rpc_message message;
    struct rpc_fault fault;

    if (rpc_parse(arena, str_of(text), &message, &fault) != NOD_E_INVALID)
        fail_msg("was taken: %s", text);
    assert_true(fault.message.len > 0);
    return fault;
}

/* --- reading --- */

static void every_kind_of_message_is_told_apart(void **state)
{
    struct rpc_message m =
        read_ok(*state, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{}}");
    assert_int_equal(m.kind, RPC_REQUEST);
    assert_str(m.id, STR("7"));
    assert_str(m.method, STR("tools/call"));
    assert_true(json_is(m.params, JSON_OBJECT));

    m = read_ok(*state, "{\"method\":\"n\",\"params\":[1],\"jsonrpc\":\"2.0\"}");
    assert_int_equal(m.kind, RPC_NOTIFICATION);
    assert_int_equal(m.id.len, 0);
    assert_true(json_is(m.params, JSON_ARRAY));

    m = read_ok(*state, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":null}");
    assert_int_equal(m.kind, RPC_RESULT);
    assert_true(json_is(m.result, JSON_NULL));

    m = read_ok(*state, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":"
                        "{\"code\":-32042,\"message\":\"no\",\"data\":[]},\"extra\":1}");
    assert_int_equal(m.kind, RPC_ERROR);
    assert_int_equal(m.code, -32042);
    assert_str(m.text, STR("no"));
    assert_true(json_is(m.data, JSON_ARRAY));
    assert_non_null(json_get(m.whole, STR("extra")));
}

static void an_id_comes_back_exactly_as_it_was_sent(void **state)
{
    static const char *const ids[] = {
        "1",    "\"1\"",   "9007199254740993",         "-3", "0",
        "\"\"", "\"a/b\"", "123456789012345678901234", "-0", "\"null\""
    };

    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        struct str text =
            arena_fmt(*state, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"m\"}", ids[i]);
        assert_str(read_ok(*state, text.at).id, str_of(ids[i]));
    }
}

static void one_string_has_one_id_text_however_it_is_escaped(void **state)
{
    struct str plain = read_ok(*state, "{\"jsonrpc\":\"2.0\",\"id\":\"a/b\",\"method\":\"m\"}").id;
    struct str escaped =
        read_ok(*state, "{\"jsonrpc\":\"2.0\",\"id\":\"\\u0061\\/b\",\"method\":\"m\"}").id;

    assert_str(escaped, plain);
}

static void ids_that_are_no_string_and_no_integer_are_refused(void **state)
{
    static const char *const ids[] = { "1.0", "1.5", "1e3", "1E0", "null", "true", "{}", "[1]" };

    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        struct str text =
            arena_fmt(*state, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"m\"}", ids[i]);
        struct rpc_fault fault = read_bad(*state, text.at);
        assert_int_equal(fault.code, RPC_INVALID_REQUEST);
        assert_str(fault.id, STR("null"));
        text = arena_fmt(*state, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}", ids[i]);
        assert_true(read_bad(*state, text.at).response);
    }
}

static void an_id_over_the_limit_is_refused(void **state)
{
    char id[RPC_ID_MAX + 2];

    memset(id, '1', sizeof(id));
    id[RPC_ID_MAX + 1] = '\0';
    read_bad(*state, arena_fmt(*state, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"m\"}", id).at);
    read_bad(*state,
             arena_fmt(*state, "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"method\":\"m\"}", id).at);
    id[RPC_ID_MAX - 2] = '\0';
    read_ok(*state,
            arena_fmt(*state, "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"method\":\"m\"}", id).at);
}

static void a_fault_carries_the_id_where_it_was_readable(void **state)
{
    static const char *const bad[] = {
        "{\"id\":7,\"method\":\"m\"}",
        "{\"jsonrpc\":\"1.0\",\"id\":7,\"method\":\"m\"}",
        "{\"jsonrpc\":2.0,\"id\":7,\"method\":\"m\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":8}",
        "{\"jsonrpc\":\"2.0\",\"id\":7}",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\",\"params\":null}",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\",\"params\":\"p\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\",\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\",\"error\":{\"code\":1,\"message\":\"\"}}",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct rpc_fault fault = read_bad(*state, bad[i]);
        assert_int_equal(fault.code, RPC_INVALID_REQUEST);
        assert_str(fault.id, STR("7"));
        assert_false(fault.response);
    }
}

static void a_bad_response_is_marked_as_not_to_be_answered(void **state)
{
    static const char *const bad[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":1,\"error\":{\"code\":1,\"message\":\"\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":\"1\",\"message\":\"\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":1.5,\"message\":\"\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":1}}",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":null}",
        "{\"id\":7,\"result\":1}",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct rpc_fault fault = read_bad(*state, bad[i]);
        assert_true(fault.response);
        assert_str(fault.id, STR("7"));
    }
    assert_true(read_bad(*state, "{\"jsonrpc\":\"2.0\",\"result\":1}").response);
}

static void an_error_may_answer_a_request_whose_id_was_unreadable(void **state)
{
    static const char *const errors[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"?\"}}",
        "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"?\"}}",
    };

    for (size_t i = 0; i < 2; i++) {
        struct rpc_message message = read_ok(*state, errors[i]);
        assert_int_equal(message.kind, RPC_ERROR);
        assert_str(message.id, STR("null"));
    }
}

static void a_member_that_is_there_twice_is_refused(void **state)
{
    read_bad(*state, "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"m\"}");
    read_bad(*state,
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"a\":1,\"a\":2}}");
    read_bad(*state, "{\"jsonrpc\":\"2.0\",\"id\":1,\"i\\u0064\":2,\"method\":\"m\"}");

    /* The reader does not rely on how the value was parsed. */
    struct json_error error;
    struct rpc_message message;
    struct rpc_fault fault;
    struct json *loose = json_parse(
        *state, STR("{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"method\":\"b\"}"), NULL, &error);
    assert_non_null(loose);
    assert_int_equal(rpc_read(loose, *state, &message, &fault), NOD_E_INVALID);
}

static void bytes_that_are_not_json_are_a_parse_error(void **state)
{
    static const char *const bad[] = { "", "{", "nope", "{\"jsonrpc\":\"2.0\"}x", "\xff" };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct rpc_fault fault = read_bad(*state, bad[i]);
        assert_int_equal(fault.code, RPC_PARSE_ERROR);
        assert_str(fault.id, STR("null"));
    }
    assert_int_equal(read_bad(*state, "[]").code, RPC_INVALID_REQUEST);
    assert_int_equal(read_bad(*state, "3").code, RPC_INVALID_REQUEST);
}

static void a_full_arena_gives_a_fault_and_not_a_crash(void **state)
{
    struct arena tiny;
    struct rpc_message message;
    struct rpc_fault fault;
    (void)state;

    arena_init(&tiny, 16);
    assert_int_equal(
        rpc_parse(&tiny, STR("{\"jsonrpc\":\"2.0\",\"method\":\"m\"}"), &message, &fault),
        NOD_E_INVALID);
    assert_true(fault.message.len > 0);
    assert_int_equal(fault.code, RPC_INVALID_REQUEST);
    arena_finish(&tiny);
}

/* --- batches --- */

static void a_batch_gives_every_element_with_its_own_status(void **state)
{
    struct rpc_batch batch;
    struct rpc_message message;
    struct rpc_fault fault;
    nod_status status;
    struct str text = STR("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}, 5,"
                          " {\"jsonrpc\":\"2.0\",\"method\":\"b\"}, []]");

    assert_int_equal(rpc_parse_batch(*state, text, &batch, &fault), NOD_OK);
    assert_true(batch.array);
    assert_true(rpc_batch_next(&batch, *state, &message, &fault, &status));
    assert_int_equal(status, NOD_OK);
    assert_str(message.method, STR("a"));
    assert_true(rpc_batch_next(&batch, *state, &message, &fault, &status));
    assert_int_equal(status, NOD_E_INVALID);
    assert_true(rpc_batch_next(&batch, *state, &message, &fault, &status));
    assert_int_equal(message.kind, RPC_NOTIFICATION);
    assert_true(rpc_batch_next(&batch, *state, &message, &fault, &status));
    assert_int_equal(status, NOD_E_INVALID); /* an array within an array is no message */
    assert_false(rpc_batch_next(&batch, *state, &message, &fault, &status));
    assert_false(rpc_batch_next(&batch, *state, &message, &fault, &status));
}

static void a_single_message_is_a_batch_of_one(void **state)
{
    struct rpc_batch batch;
    struct rpc_message message;
    struct rpc_fault fault;
    nod_status status;

    assert_int_equal(
        rpc_parse_batch(*state, STR("{\"jsonrpc\":\"2.0\",\"method\":\"b\"}"), &batch, &fault),
        NOD_OK);
    assert_false(batch.array);
    assert_true(rpc_batch_next(&batch, *state, &message, &fault, &status));
    assert_int_equal(status, NOD_OK);
    assert_false(rpc_batch_next(&batch, *state, &message, &fault, &status));
}

static nod_status batch_of_size(struct arena *arena, size_t count)
{
    struct buf text;
    struct rpc_batch batch;
    struct rpc_fault fault;

    buf_init(&text, OUT_LIMIT);
    buf_add_char(&text, '[');
    for (size_t i = 0; i < count; i++)
        buf_fmt(&text, "%s{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"m\"}", i ? "," : "", i);
    buf_add_char(&text, ']');
    nod_status status = rpc_parse_batch(arena, buf_str(&text), &batch, &fault);
    if (status == NOD_OK)
        assert_int_equal(batch.left, count);
    else
        assert_int_equal(fault.code, RPC_INVALID_REQUEST);
    buf_finish(&text);
    return status;
}

static void an_empty_batch_and_one_over_the_limit_are_refused(void **state)
{
    assert_int_equal(batch_of_size(*state, 0), NOD_E_INVALID);
    assert_int_equal(batch_of_size(*state, RPC_BATCH_MAX), NOD_OK);
    assert_int_equal(batch_of_size(*state, RPC_BATCH_MAX + 1), NOD_E_INVALID);
}

/* --- ids as text --- */

static void id_text_and_string_are_each_others_reverse(void **state)
{
    static const char *const texts[] = { "abc", "", "a\"b\\c", "line\nend", "\xc3\xa9t\xc3\xa9",
                                         "\x7f" };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct str id = rpc_id_json(*state, str_of(texts[i]));
        struct json_error error;
        assert_true(id.len >= 2);
        assert_str(rpc_id_text(*state, id), str_of(texts[i]));
        assert_str(rpc_id_of(*state, json_parse(*state, id, NULL, &error)), id);
    }
    assert_null(rpc_id_text(*state, STR("12")).at);
    assert_null(rpc_id_text(*state, STR("\"")).at);
    assert_null(rpc_id_json(*state, STR("\xff")).at);
}

static void an_id_can_be_read_from_params(void **state)
{
    struct json *number = json_new_i64(*state, 12);
    struct json *text = json_new_str(*state, STR("q\"1"));

    assert_str(rpc_id_of(*state, number), STR("12"));
    assert_str(rpc_id_of(*state, text), STR("\"q\\\"1\""));
    assert_null(rpc_id_of(*state, json_new_bool(*state, true)).at);
    assert_null(rpc_id_of(*state, NULL).at);
}

/* --- writing --- */

static void what_is_written_reads_back_the_same(void **state)
{
    struct buf out;

    buf_init(&out, OUT_LIMIT);
    rpc_write_notification(&out, STR("m\"\n"), STR("{\"a\":[1.0,\n\r\n2]}"));
    assert_str(buf_str(&out), STR("{\"jsonrpc\":\"2.0\",\"method\":\"m\\\"\\n\","
                                  "\"params\":{\"a\":[1.0,   2]}}"));
    buf_add_char(&out, '\0');
    assert_str(read_ok(*state, out.at).method, STR("m\"\n"));

    buf_clear(&out);
    rpc_write_notification(&out, STR("n"), STR_NONE);
    assert_str(buf_str(&out), STR("{\"jsonrpc\":\"2.0\",\"method\":\"n\"}"));

    buf_clear(&out);
    rpc_write_error(&out, STR_NONE, INT64_MIN, STR("bad"), STR("[1]"));
    assert_str(buf_str(&out),
               STR("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-9223372036854775808,"
                   "\"message\":\"bad\",\"data\":[1]}}"));

    buf_clear(&out);
    struct rpc_fault fault = read_bad(*state, "{\"jsonrpc\":\"2.0\",\"id\":4}");
    rpc_write_fault(&out, &fault);
    buf_add_char(&out, '\0');
    struct rpc_message answer = read_ok(*state, out.at);
    assert_str(answer.id, STR("4"));
    assert_int_equal(answer.code, RPC_INVALID_REQUEST);
    buf_finish(&out);
}

static void text_that_is_not_utf8_still_gives_a_valid_message(void **state)
{
    struct buf out;

    buf_init(&out, OUT_LIMIT);
    rpc_write_error(&out, STR("1"), 1, STR("a\xff\"\\\x01z"), STR_NONE);
    buf_add_char(&out, '\0');
    assert_str(read_ok(*state, out.at).text, STR("a?\"\\\x01z"));
    buf_finish(&out);
}

static void a_message_over_the_limit_leaves_nothing_behind(void **state)
{
    struct buf out;
    (void)state;

    buf_init(&out, 100);
    rpc_write_notification(&out, STR("one"), STR_NONE);
    size_t whole = out.len;
    for (size_t limit = whole; limit < whole + 60; limit++) {
        struct buf small;
        buf_init(&small, limit);
        rpc_write_notification(&small, STR("one"), STR_NONE);
        rpc_write_error(&small, STR("1"), 2, STR("two"), STR("{\"a\":1,\"b\":2}"));
        assert_true(small.overflow);
        assert_str(buf_str(&small), buf_str(&out));
        buf_finish(&small);
    }
    buf_finish(&out);
}

#define WITH_ARENA(test) cmocka_unit_test_setup_teardown(test, arena_begin, arena_end)

SUBJECT(rpc)
{
    const struct CMUnitTest tests[] = {
        WITH_ARENA(every_kind_of_message_is_told_apart),
        WITH_ARENA(an_id_comes_back_exactly_as_it_was_sent),
        WITH_ARENA(one_string_has_one_id_text_however_it_is_escaped),
        WITH_ARENA(ids_that_are_no_string_and_no_integer_are_refused),
        WITH_ARENA(an_id_over_the_limit_is_refused),
        WITH_ARENA(a_fault_carries_the_id_where_it_was_readable),
        WITH_ARENA(a_bad_response_is_marked_as_not_to_be_answered),
        WITH_ARENA(an_error_may_answer_a_request_whose_id_was_unreadable),
        WITH_ARENA(a_member_that_is_there_twice_is_refused),
        WITH_ARENA(bytes_that_are_not_json_are_a_parse_error),
        WITH_ARENA(a_full_arena_gives_a_fault_and_not_a_crash),
        WITH_ARENA(a_batch_gives_every_element_with_its_own_status),
        WITH_ARENA(a_single_message_is_a_batch_of_one),
        WITH_ARENA(an_empty_batch_and_one_over_the_limit_are_refused),
        WITH_ARENA(id_text_and_string_are_each_others_reverse),
        WITH_ARENA(an_id_can_be_read_from_params),
        WITH_ARENA(what_is_written_reads_back_the_same),
        WITH_ARENA(text_that_is_not_utf8_still_gives_a_valid_message),
        cmocka_unit_test(a_message_over_the_limit_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
